"""`kdissect connections`: one line for each TCP connection, when it is over."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from kdissect.api import Dissection
from kdissect.cli.captures.connection_lines import ConnectionLines
from kdissect.cli.formats import Format, delimited
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import EventFilter, add_filter, filter_of, open_filtered
from kdissect.cli.options.input_options import add_inputs, is_live
from kdissect.cli.options.output_options import add_printing, printing
from kdissect.cli.output import Output
from kdissect.cli.progress_line import progress_of
from kdissect.engine.connection_rows import CONNECTION_FIELDS
from kdissect.session.events import ConnectionClosed, Event

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
            from kdissect.cli.captures.failed_connections import (
                print_problems,  # its histories are seldom asked for
            )

            print_problems(dissection, options, output)
        else:
            _print(dissection, options, output)

    return printing(parser, options, dissection, body)


def _print(dissection: Dissection, options: Namespace, output: Output) -> None:
    progress = progress_of(dissection)
    if progress is not None and output.is_terminal:
        output.before_write = progress.clear
    form, is_table = _format(dissection, options, output)
    lines = ConnectionLines(form, not is_table)
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


def _format(dissection: Dissection, options: Namespace, output: Output) -> tuple[Format, bool]:
    """The format, and whether it is a table."""
    name = options.format or ("table" if output.is_terminal else "tsv")
    if name != "table":
        columns = () if name == "jsonl" else DEFAULT_COLUMNS
        return delimited(name, columns, options.header, output.is_terminal), False
    from kdissect.cli.formats.text_table import table
    from kdissect.report.columns.connections import connection_columns

    return table(connection_columns(), options, output, is_live(dissection)), True
