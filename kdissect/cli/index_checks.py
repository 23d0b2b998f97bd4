"""Holds the files beside segments against the segments, while these are read."""

import os
from collections.abc import Iterator

from kdissect.cli.segment_files import base_offset, beside, content, producer_snapshots
from kdissect.cli.troubles import Troubles
from kdissect.engine.segments.batch_positions import SegmentPlaces
from kdissect.engine.segments.index_file import IndexFile
from kdissect.engine.segments.index_kinds import KINDS, SNAPSHOT
from kdissect.engine.segments.producer_snapshot import ProducerSnapshot
from kdissect.engine.segments.producer_states import ProducerStates
from kdissect.model.record_batch import RecordBatch

_LOG = ".log"


def index_faults(index: IndexFile, places: SegmentPlaces | None) -> Iterator[str]:
    """All that is wrong with an index, a line each."""
    yield from index.faults
    for entry in index.entries(places):
        yield from entry.told()
    if places is not None:
        yield from index.missing(places)


class IndexChecks:
    """`begin()` a segment, `add()` its batches, `end()` it; `close()` after the last.

    Producer snapshots are compared when the log has reached their offset.
    """

    def __init__(self, troubles: Troubles) -> None:
        self._troubles = troubles
        self._folder: str | None = None
        self._next = 0
        self._states = ProducerStates()
        self._snapshots: list[tuple[int, str]] = []

    def begin(self, path: str) -> None:
        """The next batches are of this file."""
        is_log = path.endswith(_LOG)
        folder = os.path.dirname(path) if is_log else path  # noqa: PTH120
        if folder != self._folder:
            self.close()
            self._folder, self._next = folder, 0
            self._states = ProducerStates()
            self._snapshots = producer_snapshots(folder)[::-1] if is_log else []
        self._compare_until(base_offset(path))

    def add(self, batch: RecordBatch, places: SegmentPlaces) -> None:
        """The next batch, which `places` has already."""
        self._compare_until(batch.base_offset)
        aborted = self._states.add(batch)
        if aborted is not None:
            places.add_aborted(*aborted)
        self._next = batch.last_offset + 1

    def end(self, path: str, places: SegmentPlaces) -> None:
        """The file is over: check the indexes beside it."""
        for suffix, kind in KINDS.items():
            name = beside(path, _LOG, suffix)
            if suffix != SNAPSHOT and os.path.isfile(name):  # noqa: PTH113
                self._check(name, kind, places)

    def close(self) -> None:
        """No more segments of this folder; snapshots behind the last one read are not looked at."""
        self._compare_until(self._next)
        self._snapshots = []

    def _check(self, path: str, kind: type[IndexFile], places: SegmentPlaces) -> None:
        index = self._read(path, kind)
        if index is not None:
            self._troubles.tell_some(path, index_faults(index, places))

    def _read(self, path: str, kind: type[IndexFile]) -> IndexFile | None:
        try:
            return kind(content(path), base_offset(path))
        except OSError as error:
            self._troubles.tell(f"{path}: {error.strerror}")
            return None

    def _compare_until(self, offset: int) -> None:
        while self._snapshots and self._snapshots[-1][0] <= offset:
            reached, path = self._snapshots.pop()
            snapshot = self._read(path, ProducerSnapshot)
            if snapshot is not None:
                self._troubles.tell_some(path, self._snapshot_faults(snapshot, reached <= self._next))

    def _snapshot_faults(self, snapshot: IndexFile, is_reached: bool) -> Iterator[str]:
        """`is_reached`: whether no segment before the snapshot's offset was left out."""
        yield from index_faults(snapshot, None)
        for entry in snapshot.entries(None) if is_reached and not snapshot.faults else ():
            yield from entry._replace(faults=self._states.faults(entry.row)).told()
