"""`kdissect tables`: all facts in captures as Parquet tables, by one process."""

from __future__ import annotations

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence

from kdissect.cli.diagnostics import USAGE, say
from kdissect.cli.findings.report_files import FORMATS, HTML, STATISTICS
from kdissect.cli.load_arrow import load_arrow
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_schemas
from kdissect.cli.options.input_options import add_inputs, add_topic_ids, open_inputs
from kdissect.cli.options.schema_option import check_schemas
from kdissect.cli.output import Output
from kdissect.cli.parquet_tables.table_formats import DELTA, PARQUET, check_format
from kdissect.engine.tables.all_tables import TABLES, tables_page
from kdissect.model.extras import are_installed, how_to_install, missing_personal

INSTALL = f"kdissect tables needs the extra arrow: {how_to_install('arrow')}"
# Made when named. Records are as large as all other tables together, and seldom needed. Causes and stalls
# take half as much time again as all tables, and personal data takes longer than all of them.
_NOT_BY_DEFAULT = frozenset({"records", "causes", "stalls", "personal"})
_EVERY_TABLE = "all"
# Tables that reports read.
NEEDED = frozenset({"files", "findings", "coverage", "latencies", "rates"})
OF_HTML = frozenset({"causes"})


def run(arguments: Sequence[str]) -> int:
    """Write the tables of the captures and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not are_installed("pyarrow"):
        say(INSTALL)
        return USAGE
    check_schemas(parser, options)
    load_arrow()
    check_format(parser, options, wanted_tables(options))
    from kdissect.cli.parquet_tables.write_tables import write_and_report  # pyarrow is optional

    return write_and_report(open_inputs(options), options, wanted_tables(options))


def wanted_tables(options: Namespace) -> frozenset[str]:
    """Return the tables that options ask for."""
    wanted: frozenset[str] = options.tables
    if options.fields:
        wanted |= {"fields"}
    if HTML in (name for name, _ in options.report):
        wanted |= OF_HTML
    return wanted | NEEDED if options.report else wanted


def _parser() -> ArgumentParser:
    parser = command_parser(
        "tables", "Write the facts of captures as Parquet tables (docs/tables.md), by one process."
    )
    add_inputs(parser)
    add_topic_ids(parser)
    add_schemas(parser)
    add = parser.add_argument_group("which tables, and where").add_argument
    add_tables(add)
    add("--describe", action=_Describe, nargs=0, help="print the columns of all tables, and exit")
    return parser


class _Describe(Action):
    """`--describe`: prints what docs/tables.md has."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        with Output() as output:
            output.write(tables_page().encode())
        parser.exit()


def add_tables(add: Callable[..., object]) -> None:
    """Add the options that say which tables and reports are written, and where, to a parser or group."""
    add_table_directory(add)
    add("--fields", metavar="NAME,...", type=_fields, default=(), help=(
        "also write a table 'fields', a row for each exchange with these columns: names that -e of inspect "
        "takes, such as request.acks,topic,latency"
    ))  # fmt: skip
    add_partitions(add)
    add("--format", choices=(PARQUET, DELTA), default=PARQUET, help=(
        "delta: with logs that make the Parquet files tables of Delta Lake (default: parquet)"
    ))  # fmt: skip
    add("--overwrite", action="store_true", help="replace tables that an earlier run wrote there")
    add("--report", metavar="FORMAT=FILE", type=table_report, action="append", default=[], help=(
        f"also write a report, made from the tables; FORMAT is {', '.join(FORMATS)} or {STATISTICS}"
    ))  # fmt: skip


def add_partitions(add: Callable[..., object], default: tuple[str, ...] = ()) -> None:
    """Add `--partition-by`."""
    add("--partition-by", metavar="COLUMN,...", type=_columns, default=default, help=(
        "columns that make directories, such as day,broker, or none "
        f"(default: {','.join(default) or 'none'})"
    ))  # fmt: skip


def add_table_directory(add: Callable[..., object]) -> None:
    """Add `--output` and `--tables`."""
    add(
        "-o",
        "--output",
        metavar="DIR",
        required=True,
        help="directory of the tables: a path, or s3://, hdfs:// ...",
    )
    add("--tables", metavar="NAME,...", type=_table_names, default=frozenset(TABLES) - _NOT_BY_DEFAULT, help=(
        "tables to write, or all (default: all but records, causes, stalls and personal)"
    ))  # fmt: skip


def _fields(text: str) -> tuple[str, ...]:
    """Return names of fields. Raises ArgumentTypeError."""
    # start-up: the filter language
    from kdissect.cli.formats.named_fields import columns_of, split_names
    from kdissect.engine.listed_rows import LISTED_FIELDS
    from kdissect.query.fields.field_table import field_table
    from kdissect.query.fields.printed_fields import Behind

    names = split_names([text])
    try:
        columns_of(names, LISTED_FIELDS, Behind.EXCHANGE)
        field_table(names)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return tuple(names)


def _table_names(text: str) -> frozenset[str]:
    """Return the names of tables. Raises ArgumentTypeError."""
    found = frozenset(TABLES if text == _EVERY_TABLE else filter(None, text.split(",")))
    unknown = sorted(found - frozenset(TABLES))
    if unknown or not found:
        raise ArgumentTypeError(
            f"no table {', '.join(unknown) or text!r}; there are {', '.join(TABLES)}, {_EVERY_TABLE}"
        )
    if "personal" in found and (missing := missing_personal()) is not None:
        raise ArgumentTypeError(missing)
    return found


def table_report(text: str) -> tuple[str, str]:
    """`FORMAT=FILE` as (format, file). Raises ArgumentTypeError."""
    name, _, path = text.partition("=")
    if name not in (*FORMATS, STATISTICS) or not path:
        raise ArgumentTypeError(f"{text!r} is no FORMAT=FILE; there are {', '.join(FORMATS)}, {STATISTICS}")
    return name, path


def _columns(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(filter(None, text.split(",")))
    known = {field.name for table in TABLES.values() for field in table.fields}
    for name in names:
        if name not in known:
            raise ArgumentTypeError(f"no table has a column {name!r}")
    return names
