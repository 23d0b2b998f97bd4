"""`kdissect segments`: the batches or records of log segments and snapshots, the entries of the files next to
them, and their faults.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice

from kdissect.cli.formats import format_of
from kdissect.cli.log_segments.file_errors import FileErrors
from kdissect.cli.log_segments.segment_kind import SegmentKind, kind_of
from kdissect.cli.options.command_parser import add_limits, command_parser
from kdissect.cli.options.output_options import (
    UNSORTED,
    add_fields,
    add_forms,
    add_limit,
    add_printing,
    check_parquet,
    choose_columns,
    settle_format,
    writing,
)
from kdissect.cli.output import Output
from kdissect.engine.exchange_rows import Row

_FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet")


def run(arguments: Sequence[str]) -> int:
    """Print the batches or records of the files and return the exit code: 3 if a file is corrupt."""
    parser = command_parser(
        "segments",
        "List the batches of log segments (.log) and snapshots (.checkpoint), or their records. Also check "
        "checksums and the files next to them, and report corrupt data on stderr, with its first byte. "
        "For an .index, .timeindex, .txnindex or .snapshot file, list its entries.",
    )
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="+", help="a segment, a snapshot, an index, or a folder of them")
    add("--records", action="store_true", help="a line for each record, not for each batch")
    add("--topic", metavar="NAME", help="the topic, if the folder's name does not contain it")
    add_printing(parser, _FORMATS)
    add_fields(parser, "columns to print")
    add_forms(parser)
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_limit(parser)
    add_limits(parser)
    options = parser.parse_args(arguments)
    settle_format(parser, options)
    try:
        kind = _check(options)
    except ValueError as error:
        parser.error(str(error))
    errors = FileErrors()

    def body(output: Output) -> None:
        _print(kind, kind.rows(options, errors), options, output)
        if errors.code and not errors.opened:
            output.keep_old()

    return writing(parser, options, body) or errors.code


def _check(options: Namespace) -> SegmentKind:
    check_parquet(options)
    if options.sort and options.format == "parquet":
        raise ValueError(UNSORTED)
    kind = kind_of(options)
    choose_columns(options, kind.fields)
    return kind


def _print(kind: SegmentKind, rows: Iterator[Row], options: Namespace, output: Output) -> None:
    if options.format == "parquet":
        from kdissect.cli.log_segments.segment_parquet import write_rows  # pyarrow is optional

        write_rows(output, rows, kind.fields, options)
        return
    form = format_of(options, output, kind.columns, kind.table_columns)
    output.write(form.head())
    for row in islice(rows, options.limit):
        output.write(form.line(row))
    output.write(form.tail())
