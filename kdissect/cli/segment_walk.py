"""Goes through log segments and snapshots for `kdissect segments`."""

from argparse import Namespace
from collections.abc import Iterator

from kdissect.cli.index_checks import IndexChecks
from kdissect.cli.segment_files import base_offset, chunks, find_segments
from kdissect.cli.troubles import Troubles
from kdissect.engine.indexes.segment_places import SegmentPlaces
from kdissect.engine.record_rows import RecordRows
from kdissect.engine.rows import Row
from kdissect.engine.segment_reader import PlacedBatch, SegmentReader
from kdissect.engine.segment_rows import SegmentRows, place_of
from kdissect.model.record_batch import RecordFault
from kdissect.model.wording import path_text


class SegmentWalk:
    """`rows()` of all files; what is wrong goes to `troubles`."""

    def __init__(self, options: Namespace, troubles: Troubles) -> None:
        self._troubles = troubles
        self._options = options
        records = None
        if options.records:
            forms = [
                form or ("raw" if options.format == "parquet" else "text")
                for form in (options.key_format, options.value_format)
            ]
            records = RecordRows((), forms[0], forms[1], options.show_secrets)
        self._rows = SegmentRows(records)
        self._checks = IndexChecks(troubles)
        self._first: tuple[int, str] | None = None

    def rows(self) -> Iterator[Row]:
        """The rows of all files."""
        for path in find_segments(self._options.paths, self._troubles.tell_error):
            yield from self._troubles.bounded(path, self._file(path))
        self._checks.close()

    def _file(self, path: str) -> Iterator[Row]:
        self._rows.begin(path_text(path), *place_of(path, self._options.topic))
        self._first = None
        reader = SegmentReader()
        places = SegmentPlaces(base_offset(path))
        self._checks.begin(path)
        for data in chunks(path):
            self._troubles.opened = True
            for placed in reader.feed(data):
                yield from self._batch(placed, places)
        self._troubles.opened = True
        for placed in reader.close():
            yield from self._batch(placed, places)
        for fault in reader.faults:
            self._note(fault.offset, str(fault))
        self._tell_first(path)
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

    def _tell_first(self, path: str) -> None:
        if self._first is not None:
            position, why = self._first
            self._troubles.tell(f"{path}: first corrupt byte {position}: {why}")
