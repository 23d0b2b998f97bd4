"""`kdissect inspect`: the exchanges of captures, one line each."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import Protocol

from kdissect.api import Dissection
from kdissect.cli.filters import add_filter, open_filtered, selected
from kdissect.cli.inputs import add_inputs, add_topic_ids
from kdissect.cli.metering import Metering
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import add_printing, printing
from kdissect.cli.progress import progress_of
from kdissect.cli.record_options import add_limit
from kdissect.cli.selection import add_selection
from kdissect.session.exchange import Exchange

FORMATS = ("table", "tsv", "jsonl", "csv", "tree")
# One line an exchange for scripts; `-e` chooses others.
DEFAULT_COLUMNS = (
    "number", "request.time", "client", "broker", "client_id", "api_key", "api", "api_version",
    "correlation_id",
    "state", "latency_ns", "request.bytes", "response.bytes", "errors", "topics",
)  # fmt: skip
# Each reads the whole input: more than a machine has cores are no use.
MAX_JOBS = 64
_BODY_COLUMNS = ("request.body", "request.error", "response.body", "response.error")


class Writer(Protocol):
    """Turns exchanges into bytes."""

    def head(self) -> bytes:
        """What comes before the first exchange."""

    def skip(self) -> None:
        """One exchange is left out, and counted."""

    def line(self, exchange: Exchange) -> bytes:
        """One exchange; may be held back and come with a later one."""

    def tail(self) -> bytes:
        """What was held back."""


def run(arguments: Sequence[str]) -> int:
    """Print the exchanges of the captures; gives the exit code."""
    parser, options = inspect_options(arguments)
    if options.jobs > 1 and (options.output or not os.isatty(1)):  # a terminal is not what is waited for
        from kdissect.cli.jobs.listing import list_in_jobs

        return list_in_jobs(parser, options, arguments)
    return list_exchanges(parser, options)


def inspect_options(arguments: Sequence[str]) -> tuple[ArgumentParser, Namespace]:
    """The parser and what it makes of the arguments. Leaves with exit code 2 where they are wrong."""
    parser = command_parser(
        "inspect", "List the exchanges of captures: requests paired with their responses."
    )
    add_inputs(parser)
    add_listing(parser)
    parser.add_argument("--jobs", metavar="N", type=_jobs, default=1, help=(
        "share the connections out over N processes; with --format jsonl. The output is the same; default: 1"
    ))  # fmt: skip
    options = parser.parse_args(arguments)
    check_listing(parser, options)
    return parser, options


def list_exchanges(parser: ArgumentParser, options: Namespace) -> int:
    """Print the exchanges of the inputs; gives the exit code. `live` prints its own with it."""
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        with Metering(options, dissection):
            _print(dissection, options, output)

    return printing(parser, options, dissection, body)


def add_listing(parser: ArgumentParser) -> None:
    """Add the options that choose exchanges and say how to print them."""
    add_topic_ids(parser)
    add_filter(parser)
    add_selection(parser)
    add_printing(parser, FORMATS)
    add = parser.add_argument
    add("-e", dest="fields", metavar="FIELD,...", action="append", default=[], help=(
        "columns to print: fields of a JSON line (docs/output.md) by their dotted names, also inside "
        "request.body and response.body"
    ))  # fmt: skip
    add("--bodies", action="store_true", help="decode the bodies and print them")
    add("--records", action="store_true", help="the bodies with the records in them; implies --bodies")
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_limit(parser)


def check_listing(parser: ArgumentParser, options: Namespace) -> None:
    """Leave with exit code 2 where options do not go together."""
    try:
        _check(options)
    except ValueError as error:
        parser.error(str(error))


def _jobs(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= MAX_JOBS:
        raise ArgumentTypeError(f"{text!r} is no number of processes from 1 to {MAX_JOBS}")
    return int(text)


def _check(options: Namespace) -> None:
    if options.records and not options.fields:
        options.bodies = True
    if options.fields:
        from kdissect.cli.columns import check_names, split_names
        from kdissect.engine.rows import EXCHANGE_FIELDS

        options.fields = split_names(options.fields)
        check_names(options.fields, EXCHANGE_FIELDS)
    if options.bodies and options.format == "table":
        raise ValueError("a table has no room for bodies: use --format tree or jsonl, or name fields with -e")
    if options.fields and options.format == "tree":
        raise ValueError("a tree shows everything: -e goes with table, tsv, csv and jsonl")


def _print(dissection: Dissection, options: Namespace, output: Output) -> None:
    progress = progress_of(dissection)
    if progress is not None and output.is_terminal:
        output.before_write = progress.clear
    writer = writer_of(dissection, options, output)
    output.write(writer.head())
    try:
        _copy(dissection, options, output, writer, progress.tick if progress else None)
    except KeyboardInterrupt:
        output.write(writer.tail())
        raise
    finally:
        if progress is not None:
            progress.clear()
    output.write(writer.tail())


def _copy(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    writer: Writer,
    tick: Callable[[], None] | None,
) -> None:
    accepts = selected(options, dissection)
    left = options.limit or -1
    write, line, pass_by = output.write, writer.line, dissection.topics.pass_by
    if tick is None and accepts is None and not options.limit:
        for exchange in dissection:  # nothing to ask about each
            write(line(exchange))
        return
    for exchange in dissection:
        if tick is not None:
            tick()
        if accepts is not None and not accepts(exchange):
            writer.skip()
            pass_by(exchange)
            continue
        write(line(exchange))
        left -= 1
        if not left:
            break


def writer_of(dissection: Dissection, options: Namespace, output: Output) -> Writer:
    """What makes bytes of the exchanges that are listed."""
    name = options.format or _default_format(options, output)
    plain = not options.bodies and not options.fields
    if name == "jsonl" and plain and not output.is_terminal:
        from kdissect.cli.formats.fastlines import FastLines

        return FastLines(dissection.file_names, dissection.topics.topics_of)
    from kdissect.cli.formats import exchanges

    if name == "tree":
        return exchanges.tree_writer(dissection, options, output)
    return exchanges.row_writer(dissection, options, output, name, _columns(options, name))


def _default_format(options: Namespace, output: Output) -> str:
    if not output.is_terminal:
        return "tsv"
    return "tree" if options.bodies and not options.fields else "table"


def _columns(options: Namespace, name: str) -> Sequence[str]:
    if options.fields or name in ("jsonl", "table"):
        return list(options.fields)
    return DEFAULT_COLUMNS + (_BODY_COLUMNS if options.bodies else ())
