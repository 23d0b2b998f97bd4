"""The tables `causes` and `stalls` of one capture set: the results of `why`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.engine.exchange_rows import Row
from kdissect.session.events import Event
from kdissect.stages.block_takers import BlockTaker
from kdissect.stages.rows.cause_rows import cause_rows
from kdissect.stages.rows.stall_rows import stall_rows
from kdissect.stages.rows.table_rows import TableRows

if TYPE_CHECKING:
    from kdissect.serdes.schemas import Schemas

_CAUSES, _STALLS = "causes", "stalls"
_MAX_CAUSES = 1_000  # of one capture set


class CauseStage:
    """Collector of the events of a capture set; `close` yields its tables (`one_process.SetStage`).

    With `schemas`, keys and values are read, too, for the cause `poison-pill`.
    """

    def __init__(
        self,
        dissection: Dissection,
        capture_set: str,
        tables: frozenset[str],
        schemas: Schemas | None = None,
    ) -> None:
        self._dissection = dissection
        self._capture_set = capture_set
        self._tables = tables
        values = None
        if schemas is not None and _CAUSES in tables:
            from kdissect.engine.records.value_faults import ValueFaults  # start-up: seldom asked for

            values = ValueFaults(schemas, dissection.topics)
        self._gathering = Gathering(dissection.topics, values=values)

    def add_kept(self, event: Event) -> None:
        """Take the next event, and leave it unchanged."""
        self._gathering.add_kept(event)

    def takers(self) -> list[BlockTaker]:
        """Return the takers of the exchanges of a block, which replace `add_kept`."""
        return self._gathering.takers()

    def close(self) -> Iterator[tuple[str, Any]]:
        """Yield (table, record batch) at the end of the capture set."""
        self._gathering.finish()
        rows = TableRows(self._tables)
        if _CAUSES in self._tables:
            for row in self._causes():
                rows.add(_CAUSES, row)
        if _STALLS in self._tables:
            for row in stall_rows(self._gathering.stalls.facts(self._gathering.traffic.throttled)):
                rows.add(_STALLS, row)
        yield from rows.close()

    def _causes(self) -> Iterator[Row]:
        names, files = self._dissection.file_names, self._dissection.captures.files
        of_set = [file for file in files if file.capture_set == self._capture_set]
        self._gathering.note_clock(of_set)
        own = [names[file.index] for file in of_set]
        yield from cause_rows(self._capture_set, diagnose(self._gathering, names, most=_MAX_CAUSES), own)
