"""The table `causes` of one capture set: the causes in its events that `why` reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.session.events import Event
from kdissect.stages.block_takers import BlockTaker
from kdissect.stages.rows.cause_rows import cause_rows
from kdissect.stages.rows.table_rows import TableRows

_TABLE = "causes"
_MOST = 1_000  # of one capture set


class CauseStage:
    """Takes the events of a capture set; `close` returns the table (`stages.one_process.SetStage`)."""

    def __init__(self, dissection: Dissection, capture_set: str) -> None:
        self._dissection = dissection
        self._capture_set = capture_set
        self._gathering = Gathering(dissection.topics)

    def add_kept(self, event: Event) -> None:
        """Take the next event, and leave it as it is."""
        self._gathering.add_kept(event)

    def takers(self) -> list[BlockTaker]:
        """Return the takers of a block's exchanges, which replace `add_kept`."""
        return self._gathering.takers()

    def close(self) -> Iterator[tuple[str, Any]]:
        """End the capture set and yield (table, record batch)."""
        names = self._dissection.file_names
        files = self._dissection.captures.files
        own = [names[file.index] for file in files if file.capture_set == self._capture_set]
        self._gathering.note_clock(file for file in files if file.capture_set == self._capture_set)
        self._gathering.finish()
        rows = TableRows({_TABLE})
        for row in cause_rows(self._capture_set, diagnose(self._gathering, names, most=_MOST), own):
            rows.add(_TABLE, row)
        yield from rows.close()
