"""`kdissect segments`: the batches or records of log segments and snapshots, and what is wrong with them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from kdissect.cli.diagnostics import say
from kdissect.cli.exits import OK, UNREADABLE
from kdissect.cli.formats import Format, delimited
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import add_printing, writing
from kdissect.cli.record_options import add_forms, add_limit, check_parquet
from kdissect.cli.segment_files import base_offset, beside, chunks, find_segments
from kdissect.engine.record_rows import RecordRows
from kdissect.engine.rows import Row
from kdissect.engine.segment_index import SegmentPlaces, offset_index_faults, time_index_faults
from kdissect.engine.segment_reader import PlacedBatch, SegmentReader
from kdissect.engine.segment_rows import SEGMENT_BATCH_FIELDS, SEGMENT_RECORD_FIELDS, SegmentRows, place_of
from kdissect.model.record_batch import RecordFault

FORMATS = ("table", "tsv", "jsonl", "csv", "parquet")
BATCH_COLUMNS = tuple(field.name for field in SEGMENT_BATCH_FIELDS)
RECORD_COLUMNS = (
    "number", "file", "topic", "partition", "position", "offset", "timestamp", "key", "value", "headers",
    "producer_id", "producer_epoch", "sequence", "codec", "control", "crc_ok",
)  # fmt: skip


def run(arguments: Sequence[str]) -> int:
    """Print the batches or records of the files; gives the exit code: 3 where a file is corrupt."""
    parser = command_parser(
        "segments",
        "List the batches of log segments (.log) and snapshots (.checkpoint), or their records. Checksums "
        "and indexes are checked; what is corrupt is told on stderr, its first byte named.",
    )
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="+", help="a segment, a snapshot, or a folder of them")
    add("--records", action="store_true", help="a line for each record, not for each batch")
    add("--topic", metavar="NAME", help="the topic, where the folder's name does not tell it")
    add_printing(parser, FORMATS)
    add("-e", dest="fields", metavar="FIELD,...", action="append", default=[], help="columns to print")
    add_forms(parser)
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_limit(parser)
    options = parser.parse_args(arguments)
    try:
        _check(options)
    except ValueError as error:
        parser.error(str(error))
    walk = SegmentWalk(options)

    def body(output: Output) -> None:
        _print(walk, options, output)

    return writing(parser, options, body) or walk.code


def _check(options: Namespace) -> None:
    check_parquet(options)
    if options.fields:
        from kdissect.cli.columns import check_names, split_names

        options.fields = split_names(options.fields)
        check_names(options.fields, SEGMENT_RECORD_FIELDS if options.records else SEGMENT_BATCH_FIELDS)


def _print(walk: SegmentWalk, options: Namespace, output: Output) -> None:
    if options.format == "parquet":
        from kdissect.cli.segment_parquet import write_rows

        fields = SEGMENT_RECORD_FIELDS if options.records else SEGMENT_BATCH_FIELDS
        write_rows(output, walk.rows(), fields, options)
        return
    form = _format(options, output)
    output.write(form.head())
    left = options.limit or -1
    for row in walk.rows():
        output.write(form.line(row))
        left -= 1
        if not left:
            break
    output.write(form.tail())


def _format(options: Namespace, output: Output) -> Format:
    name = options.format or ("table" if output.is_terminal else "tsv")
    default = RECORD_COLUMNS if options.records else BATCH_COLUMNS
    if name != "table":
        columns = options.fields or (() if name == "jsonl" else default)
        return delimited(name, columns, options.header, output.is_terminal)
    from kdissect.cli.formats.exchange_columns import chosen_columns
    from kdissect.cli.formats.segment_columns import batch_columns, record_columns
    from kdissect.cli.formats.table import table

    if options.fields:
        return table(chosen_columns(options.fields), options, output, live=False)
    return table(record_columns() if options.records else batch_columns(), options, output, live=False)


class SegmentWalk:
    """Goes through the files; `code` is the exit code once the rows are out."""

    def __init__(self, options: Namespace) -> None:
        self.code = OK
        self._options = options
        records = None
        if options.records:
            forms = [
                form or ("raw" if options.format == "parquet" else "text")
                for form in (options.key_format, options.value_format)
            ]
            records = RecordRows((), forms[0], forms[1], options.show_secrets)
        self._rows = SegmentRows(records)
        self._first: tuple[int, str] | None = None

    def rows(self) -> Iterator[Row]:
        """The rows of all files. What is wrong is told on stderr."""
        try:
            for path in find_segments(self._options.paths):
                yield from self._file(path)
        except OSError as error:
            self._fail(f"{error.filename}: {error.strerror}")

    def _fail(self, text: str) -> None:
        say(text)
        self.code = UNREADABLE

    def _file(self, path: str) -> Iterator[Row]:
        self._rows.begin(path, *place_of(path, self._options.topic))
        self._first = None
        reader = SegmentReader()
        places = SegmentPlaces(base_offset(path))
        try:
            for data in chunks(path):
                for placed in reader.feed(data):
                    yield from self._batch(placed, places)
        except OSError as error:
            self._fail(f"{path}: {error.strerror}")
            return
        for placed in reader.close():
            yield from self._batch(placed, places)
        for fault in reader.faults:
            self._note(fault.offset, str(fault))
        self._tell_first(path)
        self._check_indexes(path, places)

    def _batch(self, placed: PlacedBatch, places: SegmentPlaces) -> Iterator[Row]:
        places.add(placed)
        faults: list[RecordFault] = []
        yield from self._rows.rows(placed, faults)
        for fault in (*placed.batch.faults, *faults):
            # Inside compressed records a fault has no byte of its own in the file: the batch's stands for it.
            start = placed.batch.records_start if fault.inside else fault.offset
            self._note(placed.base + start, f"batches[{placed.number}].{fault}")

    def _tell_first(self, path: str) -> None:
        if self._first is not None:
            position, why = self._first
            self._fail(f"{path}: first corrupt byte {position}: {why}")

    def _note(self, position: int, text: str) -> None:
        if self._first is None or position < self._first[0]:
            self._first = position, text

    def _check_indexes(self, path: str, places: SegmentPlaces) -> None:
        for suffix, check in ((".index", offset_index_faults), (".timeindex", time_index_faults)):
            data = beside(path, suffix)
            for fault in check(data, places) if data else ():
                self._fail(f"{path.removesuffix('.log')}{suffix}: {fault}")
