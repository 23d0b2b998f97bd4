"""The state of a capture set from batch to batch, besides its flows: its stage, and its files.

Events come in their order: all events of a batch follow all events of the batch before (`shard`), so that
machines and statistics see what one process would show them. Open flows are reported to a state that is used
up by that.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter
from typing import Any

from kdissect.history.topics.topic_names import TopicNames
from kdissect.pipeline.streaming.flows.ends_digest import Ordered
from kdissect.pipeline.streaming.flows.flow import Judged
from kdissect.pipeline.streaming.flows.freezer import Freezer
from kdissect.pipeline.streaming.set_log import Segment
from kdissect.pipeline.streaming.settled_ends import SettledEnds
from kdissect.pipeline.streaming.silent_connections import Read, SilentConnections
from kdissect.serdes.schemas import Schemas
from kdissect.session.info import ConnectionInfo
from kdissect.stages.forwarding import NAMES
from kdissect.stages.judges import Judgement
from kdissect.stages.per_capture_set import Aside, CaptureSetStage
from kdissect.stages.per_flow import JUDGEMENT
from kdissect.stages.replay import Replay
from kdissect.stages.rows.file_rows import EMPTY, FileRows

_BEHIND_ALL = b"\xff" * 32
"""An order after that of every event."""


class _FileTurns:
    """Rows of files. The row of the newest file may change yet, and rows of files without packets may,
    too.
    """

    def __init__(self) -> None:
        self._is_alive = False
        self._waiting: dict[str, FileRows] = {}

    def take(self, told: Iterable[FileRows], late: frozenset[str]) -> list[FileRows]:
        """Take the rows of a batch, in the order of the files. Return the rows that are final now."""
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
        """Yield the rows that hold until the next batch."""
        for rows in self._waiting.values():
            file = rows.file
            is_empty = not (file["packets"] or file["error"] or file["anomalies"])
            yield rows._replace(file=file | {"error": EMPTY}) if is_empty and not self._is_alive else rows


class SetState:
    """One capture set, `frozen` and `thawed` by a `Freezer` that keeps `names`, `read` and `schemas`
    apart.
    """

    def __init__(
        self,
        set_name: str,
        tables: frozenset[str],
        names: TopicNames,
        read: Read,
        schemas: Schemas | None = None,
    ) -> None:
        self._stage = CaptureSetStage(set_name, tables, names, schemas=schemas)
        self._replay = Replay()
        self.judgement = Judgement()
        """Of connections that are over."""
        self.files = _FileTurns()
        self.silent = SilentConnections(read)
        self._heard: set[str] = set()
        """Connections that spoke since silent ones were set aside."""

    @staticmethod
    def thawed(data: bytes, freezer: Freezer) -> SetState:
        """Thaw the result of `frozen`."""
        found: SetState
        _, found = freezer.thaw(data)
        for info, aside in found.silent.take_woken():
            found.take_up(info, aside)
        return found

    def frozen(self, freezer: Freezer) -> bytes:
        """Return the state as bytes."""
        return freezer.freeze((self.silent, self), {ConnectionInfo: self.silent.reduced})

    def set_aside(self, path: str) -> bytes | None:
        """Set open connections aside that were silent since the last call. Return the content to write as
        `path`, or None.
        """
        found = {}
        for connection in [one for one in self._replay.open if one not in self._heard]:
            aside = self._stage.set_aside(connection)
            if aside is not None:
                found[connection] = self._replay.set_aside(connection), aside
        self._heard = set()
        return self.silent.add(found, path)

    def _wake(self, connection: str) -> None:
        """Take up a connection that was set aside."""
        found = self.silent.take(connection)
        if found is not None:
            self.take_up(*found)

    def take_up(self, info: ConnectionInfo, aside: Aside) -> None:
        """Go on with a connection that was set aside."""
        self._replay.take_up(info)
        self._stage.take_up(info.id, aside)

    def take(self, segment: Segment, uncounted: Collection[str]) -> None:
        """Take a batch's segment, without connections that another set counts. Names were learned before."""
        blobs = (blob for order, blob in segment.forwarded if not order.startswith(NAMES))
        self._stage.asks(self._wake)
        for event, silenced in self._replay.events(blobs, uncounted, self._wake):
            self._stage.add(event, silenced)
            self._heard.add(event.connection.id)
        for judged in segment.judged:
            self.merge(judged, uncounted)

    def merge(self, judged: Judged, uncounted: Collection[str]) -> None:
        """Take what came of a connection that is over."""
        connection, judgement = judged
        if connection not in uncounted:
            self.judgement.merge(pickle.loads(judgement))

    def end(self, forwarded: Iterable[Ordered], settled: SettledEnds, uncounted: Collection[str]) -> None:
        """Take the ends of all that is open: events in their order, and settled flows."""
        alone = [one for one in self._replay.open if one in settled]
        rest = [*forwarded, *settled.rest]
        for digest in settled.digests:
            self.judgement.merge(digest.judgement)
            for end, connections in digest.plain.items():
                often = self._stage.close_plain(end, connections.difference(alone))
                alone += often
        rest += settled.events(alone)
        now = b""

        def wake(connection: str) -> None:
            if connection not in self.silent:
                return
            if settled.order(connection) > now:
                self._wake(connection)

        self._stage.asks(wake)
        for now, blob in sorted(rest, key=itemgetter(0)):
            if not now.startswith(NAMES):
                for event, silenced in self._replay.events((blob,), uncounted, self._wake):
                    self._stage.add(event, silenced)
        now = _BEHIND_ALL

    def close(self) -> Iterator[tuple[str, Any]]:
        """Yield (table, record batch) as if the capture ended here. The state is of no use afterwards."""
        for name, batch in self._stage.close():
            if name == JUDGEMENT:
                for blob in batch.column("blob").to_pylist():
                    self.judgement.merge(pickle.loads(blob))
            else:
                yield name, batch
