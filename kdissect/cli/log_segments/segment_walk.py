"""Goes through log segments and snapshots for `kdissect segments`."""

import os
from argparse import Namespace
from collections.abc import Iterator

from kdissect.cli.log_segments.file_errors import MAX_LINES, FileErrors
from kdissect.cli.log_segments.segment_files import (
    base_offset,
    beside,
    chunks,
    content,
    find_segments,
    producer_snapshots,
)
from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.segments.batch_positions import SegmentPlaces
from kdissect.engine.segments.index_file import IndexFile
from kdissect.engine.segments.index_kinds import KINDS, SNAPSHOT
from kdissect.engine.segments.producer_snapshot import ProducerSnapshot
from kdissect.engine.segments.producer_states import ProducerStates
from kdissect.engine.segments.segment_reader import PlacedBatch, SegmentReader
from kdissect.engine.segments.segment_rows import SegmentRows, place_of
from kdissect.model.record_batch import RecordBatch, RecordFault
from kdissect.model.wording import path_text

_LOG = ".log"


class SegmentWalk:
    """Yields the `rows()` of all files, and reports faults to `errors`."""

    def __init__(self, options: Namespace, errors: FileErrors) -> None:
        self._errors = errors
        self._options = options
        records = None
        if options.records:
            forms = [
                form or ("raw" if options.format == "parquet" else "text")
                for form in (options.key_format, options.value_format)
            ]
            records = RecordRows((), forms[0], forms[1], options.show_secrets)
        self._rows = SegmentRows(records)
        self._checks = IndexChecks(errors)
        self._first: tuple[int, str] | None = None

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all files."""
        for path in find_segments(self._options.paths, self._errors.report_error):
            yield from self._errors.bounded(path, self._file(path))
        self._checks.close()

    def _file(self, path: str) -> Iterator[Row]:
        self._rows.begin(path_text(path), *place_of(path, self._options.topic))
        self._first = None
        reader = SegmentReader()
        places = SegmentPlaces(base_offset(path))
        self._checks.begin(path)
        for data in chunks(path):
            self._errors.opened = True
            for placed in reader.feed(data):
                yield from self._batch(placed, places)
        self._errors.opened = True
        for placed in reader.close():
            yield from self._batch(placed, places)
        for fault in reader.faults:
            self._note(fault.offset, str(fault))
        self._report_first(path)
        self._checks.end(path, places)

    def _batch(self, placed: PlacedBatch, places: SegmentPlaces) -> Iterator[Row]:
        places.add(placed)
        self._checks.add(placed.batch, places)
        faults: list[RecordFault] = []
        yield from self._rows.rows(placed, faults)
        for fault in (*placed.batch.faults, *faults):
            # Inside compressed records a fault has no byte of its own in the file: the batch's stands for it.
            start = placed.batch.records_start if fault.inside else fault.offset
            self._note(placed.base + start, f"batches[{placed.number}].{fault}")

    def _note(self, position: int, text: str) -> None:
        if self._first is None or position < self._first[0]:
            self._first = position, text

    def _report_first(self, path: str) -> None:
        if self._first is not None:
            position, why = self._first
            self._errors.report(f"{path}: first corrupt byte {position}: {why}")


# Compares the files next to segments with the segments, while these are read.
def _index_faults(index: IndexFile, places: SegmentPlaces | None) -> Iterator[str]:
    """Yield all that is wrong with an index, a line each."""
    yield from index.faults
    for entry in index.entries(places):
        yield from entry.told()
    if places is not None:
        yield from index.missing(places)


class IndexChecks:
    """`begin()` a segment, `add()` its batches, `end()` it; `close()` after the last.

    Producer snapshots are compared when the log has reached their offset.
    """

    def __init__(self, errors: FileErrors) -> None:
        self._errors = errors
        self._folder: str | None = None
        self._next = 0
        self._states = ProducerStates()
        self._snapshots: list[tuple[int, str]] = []

    def begin(self, path: str) -> None:
        """Begin a file, of which the next batches are."""
        is_log = path.endswith(_LOG)
        folder = os.path.dirname(path) if is_log else path  # noqa: PTH120
        if folder != self._folder:
            self.close()
            self._folder, self._next = folder, 0
            self._states = ProducerStates()
            self._snapshots = producer_snapshots(folder)[::-1] if is_log else []
        self._compare_until(base_offset(path))

    def add(self, batch: RecordBatch, places: SegmentPlaces) -> None:
        """Take the next batch, which `places` has already."""
        self._compare_until(batch.base_offset)
        aborted = self._states.add(batch)
        if aborted is not None:
            places.add_aborted(*aborted)
        self._next = batch.last_offset + 1

    def end(self, path: str, places: SegmentPlaces) -> None:
        """End the file: check the indexes next to it."""
        for suffix, kind in KINDS.items():
            name = beside(path, _LOG, suffix)
            if suffix != SNAPSHOT and os.path.isfile(name):  # noqa: PTH113
                self._check(name, kind, places)

    def close(self) -> None:
        """End the folder: snapshots after the last segment are not compared."""
        self._compare_until(self._next)
        self._snapshots = []

    def _check(self, path: str, kind: type[IndexFile], places: SegmentPlaces) -> None:
        index = self._read(path, kind)
        if index is not None:
            self._errors.report_some(path, _index_faults(index, places))

    def _read(self, path: str, kind: type[IndexFile]) -> IndexFile | None:
        try:
            return kind(content(path), base_offset(path))
        except OSError as error:
            self._errors.report(f"{path}: {error.strerror}")
            return None

    def _compare_until(self, offset: int) -> None:
        while self._snapshots and self._snapshots[-1][0] <= offset:
            reached, path = self._snapshots.pop()
            snapshot = self._read(path, ProducerSnapshot)
            if snapshot is not None:
                self._errors.report_some(path, self._snapshot_faults(snapshot, reached <= self._next))

    def _snapshot_faults(self, snapshot: IndexFile, is_reached: bool) -> Iterator[str]:
        """`is_reached`: whether no segment before the snapshot's offset was left out."""
        yield from _index_faults(snapshot, None)
        for entry in snapshot.entries(None) if is_reached and not snapshot.faults else ():
            yield from entry._replace(faults=self._states.faults(entry.row)).told()


# Goes through index files and producer snapshots that were named, for `kdissect segments`.
class IndexWalk:
    """Yields the `rows()` of index files, and reports faults to `errors`."""

    def __init__(self, options: Namespace, suffix: str, errors: FileErrors) -> None:
        self._options = options
        self._suffix = suffix
        self._kind = KINDS[suffix]
        self._errors = errors
        self._number = 0

    def rows(self) -> Iterator[Row]:
        """Yield a row for each entry."""
        for path in self._options.paths:
            yield from self._errors.bounded(path, self._entries(path))

    def _entries(self, path: str) -> Iterator[Row]:
        index: IndexFile = self._kind(content(path), base_offset(path))
        self._errors.opened = True
        topic, partition = place_of(path, self._options.topic)
        faults = list(index.faults)
        places = None if self._suffix == SNAPSHOT else _places(beside(path, self._suffix, ".log"))
        for entry in index.entries(places):
            self._number += 1
            head = {"number": self._number, "file": path_text(path), "topic": topic, "partition": partition}
            yield {**head, "entry": entry.number, **entry.row, "faults": entry.faults}
            if entry.faults and len(faults) < MAX_LINES:
                faults += entry.told()
        if places is not None:
            faults += index.missing(places)
        self._errors.report_some(path, faults)


def _places(segment: str) -> SegmentPlaces | None:
    """Return the content of the segment next to an index; None if it cannot be read."""
    places = SegmentPlaces(base_offset(segment))
    states = ProducerStates()
    try:
        for placed in _batches(segment):
            places.add(placed)
            aborted = states.add(placed.batch)
            if aborted is not None:
                places.add_aborted(*aborted)
    except OSError:
        return None
    return places


def _batches(segment: str) -> Iterator[PlacedBatch]:
    reader = SegmentReader()
    for data in chunks(segment):
        yield from reader.feed(data)
    yield from reader.close()
