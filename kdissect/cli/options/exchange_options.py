"""Options for the list of exchanges: for `inspect`, for its workers, and the ones that `live` shares."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import add_selection
from kdissect.cli.options.filter_option import add_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import (
    OF_EXCHANGES,
    add_fields,
    add_limit,
    add_printing,
    add_time,
    choose_columns,
    settle_format,
)

_FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "tree")
# Each reads the whole input: more than a machine has cores are no use.
MAX_JOBS = 64


def inspect_options(arguments: Sequence[str]) -> tuple[ArgumentParser, Namespace]:
    """Return the parser and what it makes of the arguments. Exit with code 2 if they are wrong."""
    parser = command_parser(
        "inspect", "List the exchanges of captures: requests paired with their responses."
    )
    add_inputs(parser)
    add_listing(parser)
    parser.add_argument("--jobs", metavar="N", type=_jobs, default=1, help=(
        "share the connections out over N processes. Requires --format jsonl. The output does not "
        "change (default: 1)"
    ))  # fmt: skip
    options = parser.parse_args(arguments)
    check_listing(parser, options)
    return parser, options


def add_listing(parser: ArgumentParser) -> None:
    """Add the options that choose exchanges and say how to print them."""
    add_topic_ids(parser)
    add_filter(parser, times=False)
    add_selection(parser)
    add_printing(parser, _FORMATS)
    add = parser.add_argument
    add_fields(
        parser, "columns to print: every name that a filter takes (kdissect fields), also inside bodies"
    )
    add("--bodies", action="store_true", help="decode the bodies and print them")
    add("--records", action="store_true", help="the bodies with the records in them. Implies --bodies")
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_limit(parser)
    add_time(parser)


def check_listing(parser: ArgumentParser, options: Namespace) -> None:
    """Leave with exit code 2 where options do not go together."""
    settle_format(parser, options)
    try:
        _check(options)
    except ValueError as error:
        parser.error(str(error))


def _jobs(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= MAX_JOBS:
        raise ArgumentTypeError(f"{text!r} is not a process count from 1 to {MAX_JOBS}")
    return int(text)


def _check(options: Namespace) -> None:
    if options.schemas and getattr(options, "jobs", 1) > 1:
        raise ValueError("--schemas goes with one process: leave --jobs out")
    if options.records and not options.fields:
        options.bodies = True
    if options.fields or options.sort:
        from kdissect.engine.listed_rows import LISTED_FIELDS  # start-up: of -e, --sort

        choose_columns(options, LISTED_FIELDS, OF_EXCHANGES)
    if options.bodies and options.format == "table":
        raise ValueError("a table has no room for bodies: use --format tree or jsonl, or name fields with -e")
    if options.sort and (options.format == "tree" or getattr(options, "jobs", 1) > 1):
        raise ValueError("--sort holds rows: it goes with all formats but tree, in one process")
    if options.fields and options.format == "tree":
        raise ValueError("a tree shows everything: -e goes with all other formats")
