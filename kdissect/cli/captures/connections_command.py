"""`kdissect connections`: one line for each TCP connection, when it is over."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.captures.connection_lines import ConnectionLines
from kdissect.cli.formats import format_name, format_of
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import EventFilter, add_filter, filter_of, open_filtered
from kdissect.cli.options.input_options import add_inputs, is_live
from kdissect.cli.options.output_options import add_printing, printing
from kdissect.cli.output import Output
from kdissect.cli.progress_line import progress_of
from kdissect.engine.connection_rows import CONNECTION_FIELDS
from kdissect.session.events import ConnectionClosed, Event

if TYPE_CHECKING:
    from kdissect.report.cells import TableColumn

FORMATS = ("table", "tsv", "jsonl", "csv")
# A line has the ends and times as text, not once more as numbers.
DEFAULT_COLUMNS = tuple(
    field.name
    for field in CONNECTION_FIELDS
    if "struct" not in field.type and field.name not in ("start_ns", "capture_set")
)


def run(arguments: Sequence[str]) -> int:
    """Print the connections of the captures; gives the exit code."""
    parser = command_parser(
        "connections", "One line for each TCP connection, in the order in which they end."
    )
    add_inputs(parser, live=True)
    add_filter(parser, "only connections with an exchange for which EXPR holds")
    parser.add_argument(
        "--problems",
        action="store_true",
        help="only connections that came to nothing, with the reason and the packets, at the end",
    )
    add_printing(parser, FORMATS)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        if options.problems:
            from kdissect.cli.captures.failed_connections import print_problems  # start-up: its histories

            print_problems(dissection, options, output)
        else:
            _print(dissection, options, output)

    return printing(parser, options, dissection, body)


def _print(dissection: Dissection, options: Namespace, output: Output) -> None:
    progress = progress_of(dissection)
    if progress is not None and output.is_terminal:
        output.before_write = progress.clear
    form = format_of(options, output, DEFAULT_COLUMNS, _table_columns, is_live(dissection))
    lines = ConnectionLines(form, format_name(options, output) != "table")
    output.write(form.head())
    number = 0
    accepts = filter_of(options, dissection)
    takes = None if accepts is None else EventFilter(accepts)

    def take(event: Event) -> None:
        nonlocal number
        is_taken = takes is None or takes(event)
        if isinstance(event, ConnectionClosed):
            number += 1
            if is_taken:
                output.write(lines.line(number, event.connection))

    events = dissection.events()
    dissection.guard.each(events if progress is None else progress.ticking(events), take)
    if progress is not None:
        progress.clear()
    output.write(form.tail())


def _table_columns() -> list[TableColumn]:
    from kdissect.report.columns.connections import connection_columns  # start-up: other formats need none

    return connection_columns()
