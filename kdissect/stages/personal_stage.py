"""The table `personal` of one capture set: the rows of `personal-data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.engine.records.personal_parts import PersonalParts
from kdissect.history.topics.topic_names import TopicNames
from kdissect.serdes.schemas import Schemas
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker
from kdissect.stages.rows.table_rows import TableRows
from kdissect.stats.personal_data import PersonalData

_PERSONAL = "personal"
_STORED = "stored"  # of log segments, which captures do not have


class PersonalStage:
    """Collector of the events of a capture set; `close` yields its table (`one_process.SetStage`)."""

    def __init__(self, capture_set: str, names: TopicNames, schemas: Schemas | None) -> None:
        self._capture_set = capture_set
        self._names = names
        self._data = PersonalData(PersonalParts(schemas), names.of_records)

    def add_kept(self, event: Event) -> None:
        """Take the next event, and leave it unchanged."""
        if isinstance(event, Exchange):
            self._names.pass_by(event)
            self._data.add_exchange(event)

    def takers(self) -> list[BlockTaker]:
        """Return the taker of the exchanges of a block: each as an object, because names count as well."""
        return [BlockTaker.of_counted(lambda _, start: start, self.add_kept)]

    def close(self) -> Iterator[tuple[str, Any]]:
        """Yield (table, record batch) at the end of the capture set."""
        rows = TableRows({_PERSONAL})
        for facts in self._data.facts()["personal_data"]:
            row = {name: value for name, value in facts.items() if name != _STORED}
            rows.add(_PERSONAL, {"capture_set": self._capture_set, **row})
        yield from rows.close()
