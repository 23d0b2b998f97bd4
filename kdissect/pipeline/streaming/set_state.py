"""What of a capture set goes on from batch to batch beside its flows: its stage, and its files.

Events come in their order: all of a batch stand behind all of the batch before (`shard`), so that machines
and statistics see what one process would show them.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.history.topic_names import TopicNames
from kdissect.pipeline.streaming.set_log import Segment
from kdissect.stages.file_rows import EMPTY, FileRows
from kdissect.stages.forwarding import NAMES
from kdissect.stages.judges import Judgement
from kdissect.stages.per_capture_set import CaptureSetStage
from kdissect.stages.per_flow import JUDGEMENT
from kdissect.stages.replay import Replay


class _FileTurns:
    """Rows of files. That of the newest file may change yet, and so may those of files without packets."""

    def __init__(self) -> None:
        self._is_alive = False
        self._waiting: dict[str, FileRows] = {}

    def take(self, told: Iterable[FileRows], late: frozenset[str]) -> list[FileRows]:
        """Take the rows of a batch, in the order of the files; gives those that are final now."""
        final: list[FileRows] = []
        for rows in told:
            name = rows.file["file"]
            if name in late:
                final.append(rows)
                continue
            self._waiting.pop(name, None)
            if rows.file["packets"]:
                self._is_alive = True
                final += [other for other in self._waiting.values() if other.file["packets"]]
                self._waiting = {n: other for n, other in self._waiting.items() if not other.file["packets"]}
            self._waiting[name] = rows
        if self._is_alive:
            final += [rows for rows in self._waiting.values() if not rows.file["packets"]]
            self._waiting = {n: rows for n, rows in self._waiting.items() if rows.file["packets"]}
        return final

    def open(self) -> Iterator[FileRows]:
        """Those that hold until the next batch."""
        for rows in self._waiting.values():
            file = rows.file
            is_empty = not (file["packets"] or file["error"] or file["anomalies"])
            yield rows._replace(file=file | {"error": EMPTY}) if is_empty and not self._is_alive else rows


class SetState:
    """One capture set. Picklable by a `Freezer` that keeps `names` apart."""

    def __init__(self, set_name: str, tables: frozenset[str], names: TopicNames) -> None:
        self._stage = CaptureSetStage(set_name, tables, names)
        self._replay = Replay()
        self.judgement = Judgement()
        """Of connections that are over."""
        self.files = _FileTurns()

    def take(self, segment: Segment, uncounted: Collection[str]) -> None:
        """Take what a batch brought, but for connections that another set counts; names were learned."""
        blobs = (blob for order, blob in segment.forwarded if not order.startswith(NAMES))
        for event, silenced in self._replay.events(blobs, uncounted):
            self._stage.add(event, silenced)
        for connection, judgement in segment.judged:
            if connection not in uncounted:
                self.judgement.merge(pickle.loads(judgement))

    def close(self) -> Iterator[tuple[str, Any]]:
        """As if the capture ended here: (table, record batch). Then the state is of no use any more."""
        for name, batch in self._stage.close():
            if name == JUDGEMENT:
                for blob in batch.column("blob").to_pylist():
                    self.judgement.merge(pickle.loads(blob))
            else:
                yield name, batch


def rows_of(told: Iterable[FileRows]) -> Iterator[tuple[str, Row]]:
    """Rows of the tables `files` and `anomalies`."""
    for rows in told:
        yield "files", rows.file
        yield from (("anomalies", row) for row in rows.anomalies)
