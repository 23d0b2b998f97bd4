"""`kdissect segments`: the batches or records of log segments and snapshots, the entries of the files beside
them, and what is wrong with any of it.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice

from kdissect.cli.formats import Format, delimited
from kdissect.cli.limit_options import add_limits
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import add_printing, writing
from kdissect.cli.record_options import add_forms, add_limit, check_parquet
from kdissect.cli.segment_kind import SegmentKind, kind_of
from kdissect.cli.troubles import Troubles
from kdissect.engine.exchange_rows import Row

FORMATS = ("table", "tsv", "jsonl", "csv", "parquet")


def run(arguments: Sequence[str]) -> int:
    """Print the batches or records of the files; gives the exit code: 3 where a file is corrupt."""
    parser = command_parser(
        "segments",
        "List the batches of log segments (.log) and snapshots (.checkpoint), or their records. Checksums "
        "and the files beside them are checked; what is corrupt is told on stderr, its first byte named. "
        "Of an .index, .timeindex, .txnindex or .snapshot that is named the entries are listed.",
    )
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="+", help="a segment, a snapshot, an index, or a folder of them")
    add("--records", action="store_true", help="a line for each record, not for each batch")
    add("--topic", metavar="NAME", help="the topic, where the folder's name does not tell it")
    add_printing(parser, FORMATS)
    add("-e", dest="fields", metavar="FIELD,...", action="append", default=[], help="columns to print")
    add_forms(parser)
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_limit(parser)
    add_limits(parser)
    options = parser.parse_args(arguments)
    try:
        kind = _check(options)
    except ValueError as error:
        parser.error(str(error))
    troubles = Troubles()

    def body(output: Output) -> None:
        _print(kind, kind.rows(options, troubles), options, output)
        if troubles.code and not troubles.opened:
            output.keep_old()

    return writing(parser, options, body) or troubles.code


def _check(options: Namespace) -> SegmentKind:
    check_parquet(options)
    kind = kind_of(options)
    if options.fields:
        from kdissect.cli.columns import check_names, split_names

        options.fields = split_names(options.fields)
        check_names(options.fields, kind.fields)
    return kind


def _print(kind: SegmentKind, rows: Iterator[Row], options: Namespace, output: Output) -> None:
    if options.format == "parquet":
        from kdissect.cli.segment_parquet import write_rows

        write_rows(output, rows, kind.fields, options)
        return
    form = _format(kind, options, output)
    output.write(form.head())
    for row in islice(rows, options.limit):
        output.write(form.line(row))
    output.write(form.tail())


def _format(kind: SegmentKind, options: Namespace, output: Output) -> Format:
    name = options.format or ("table" if output.is_terminal else "tsv")
    if name != "table":
        columns = options.fields or (() if name == "jsonl" else kind.columns)
        return delimited(name, columns, options.header, output.is_terminal)
    from kdissect.cli.formats.chosen_columns import chosen_columns
    from kdissect.cli.formats.table import table

    columns_of = chosen_columns(options.fields) if options.fields else kind.table_columns()
    return table(columns_of, options, output, live=False)
