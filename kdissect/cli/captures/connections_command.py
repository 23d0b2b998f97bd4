"""`kdissect connections`: one line for each TCP connection, when it is over."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.captures.copies_text import copies_lines
from kdissect.cli.diagnostics import say
from kdissect.cli.formats import Format, format_name, format_of
from kdissect.cli.options.clock_options import add_clocks
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import EventFilter, add_filter, filter_of, open_filtered
from kdissect.cli.options.input_options import add_inputs, is_live, start_ns
from kdissect.cli.options.output_options import (
    OF_CONNECTIONS,
    add_fields,
    add_limit,
    add_printing,
    add_time,
    choose_columns,
    printing,
)
from kdissect.cli.output import Output
from kdissect.cli.progress_line import progress_of
from kdissect.engine.connection_rows import CONNECTION_FIELDS, connection_row
from kdissect.engine.copy_counts import CopyCounts
from kdissect.engine.exchange_rows import Row
from kdissect.engine.half_open import was_one_syn
from kdissect.engine.times import rfc3339
from kdissect.model.packets.stream import CloseKind
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.identities import cluster_fact
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.query.fields.printed_fields import FieldValues
    from kdissect.report.cells import TableColumn


FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet")
# A line has the ends and times as text, not once more as numbers.
DEFAULT_COLUMNS = tuple(
    field.name
    for field in CONNECTION_FIELDS
    if "struct" not in field.type and field.name not in ("start_ns", "capture_set")
)
# Values that differ between connections of one SYN, in the order of a row, with placeholders for a pattern:
# text and numbers that no format escapes, and that do not contain each other.
_VARYING = {
    "number": 7_310_582_946_173_058_261,
    "connection": "7310582946173058262",
    "client": "7310582946173058263",
    "broker": "7310582946173058264",
    "start": "7310582946173058265",
    "start_ns": 7_310_582_946_173_058_266,
}
# By capture set and how they ended.
_PATTERNS_KEPT = 1000


def run(arguments: Sequence[str]) -> int:
    """Print the connections of the captures and return the exit code."""
    parser = command_parser("connections", "List TCP connections, in the order in which they end.")
    add_inputs(parser, live=True)
    add_filter(parser, "only connections with an exchange for which EXPR holds")
    parser.add_argument(
        "--problems",
        action="store_true",
        help="only failed connections, with the reason and the packets, at the end",
    )
    parser.add_argument(
        "--one-way",
        action="store_true",
        help="only connections that two captures have, with the time of each direction, at the end",
    )
    add_clocks(parser)
    add_printing(parser, FORMATS)
    add_fields(
        parser, "columns to print: fields of a connection's JSON line (docs/output.md) by their dotted names"
    )
    add_limit(parser)
    add_time(parser)
    options = parser.parse_args(arguments)
    _check(parser, options)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        if options.problems:
            from kdissect.cli.captures.problems_text import print_problems  # start-up: its histories

            print_problems(dissection, options, output)
        elif options.one_way:
            from kdissect.cli.captures.one_way_text import print_one_way  # start-up: statistics

            print_one_way(dissection, options, output)
        else:
            _print(dissection, options, output)

    return printing(parser, options, dissection, body)


def _check(parser: ArgumentParser, options: Namespace) -> None:
    if options.problems and options.one_way:
        parser.error("--problems and --one-way are two lists: ask for one")
    if options.clocks_within is not None and not options.one_way:
        parser.error("--clocks-within goes with --one-way")
    try:
        if options.problems:
            from kdissect.stats.failed_connections import PROBLEM_FIELDS  # start-up: its histories

            choose_columns(options, PROBLEM_FIELDS)
        elif options.one_way:
            from kdissect.stats.one_way_connections import ONE_WAY_FIELDS  # start-up: statistics

            choose_columns(options, ONE_WAY_FIELDS)
        else:
            choose_columns(options, CONNECTION_FIELDS, OF_CONNECTIONS)
    except ValueError as error:
        parser.error(str(error))


def _print(dissection: Dissection, options: Namespace, output: Output) -> None:
    progress = progress_of(dissection)
    if progress is not None and output.is_terminal:
        output.before_write = progress.clear
    types = {field.name: field.type for field in CONNECTION_FIELDS}
    form = format_of(
        options, output, DEFAULT_COLUMNS, _table_columns(dissection, options), is_live(dissection), types
    )
    made = None
    if options.columns or options.order:
        from kdissect.cli.formats.made_values import made_values  # start-up: of -e, --sort

        made = made_values(dissection, options)
    lines = ConnectionLines(form, format_name(options, output) in ("tsv", "csv", "jsonl"), made)
    output.write(form.head())
    number = 0
    accepts = filter_of(options, dissection)
    takes = None if accepts is None else EventFilter(accepts)

    left = options.limit or -1
    copies = CopyCounts()

    def take(event: Event) -> bool:
        nonlocal number, left
        is_taken = takes is None or takes(event)
        if isinstance(event, ConnectionClosed):
            number += 1
            if is_taken:
                info = event.connection
                output.write(lines.line(number, info))
                left -= 1
                copies.add(info)
        return not left

    events = dissection.events()
    dissection.guard.each(events if progress is None else progress.ticking(events), take)
    if progress is not None:
        progress.clear()
    output.write(form.tail())
    for title, text in copies_lines(copies.facts()):
        say(f"{title}: {text}")


def _table_columns(dissection: Dissection, options: Namespace) -> Callable[[], list[TableColumn]]:
    def columns() -> list[TableColumn]:
        # start-up: other formats need none
        from kdissect.cli.formats.clock import Clock, clocked
        from kdissect.report.columns.connections import connection_columns

        clock = Clock(options.time, lambda: start_ns(dissection))
        return clocked(connection_columns(), "start", itemgetter("start_ns"), clock)

    return columns


# The lines of `kdissect connections`. Those of one SYN, of which a flood has a million, have a pattern.
class ConnectionLines:
    """Makes lines in a format. It is `delimited` where a line is that of one row, whatever came before.

    `made` computes the columns of `-e` that rows do not have.
    """

    def __init__(self, form: Format, delimited: bool, made: FieldValues | None = None) -> None:
        self._made = made
        self._form = form
        self._delimited = delimited
        self._patterns: dict[tuple[str, CloseKind], str] = {}

    def line(self, number: int, info: ConnectionInfo) -> bytes:
        """Return the line of a connection that is over."""
        # Hot: a row of a connection costs ten times what its line from a pattern does.
        if self._made is not None:
            return self._form.line(self._made.of_connection(info) | _row(number, info))
        if self._delimited and was_one_syn(info) and not info.names and info.close is not None:
            kind = info.capture_set, info.close.how
            pattern = self._patterns.get(kind) or self._pattern(kind, info)
            if pattern != _NONE:
                start_ns = info.start_ns
                line = pattern % (number, *info.id_and_ends(), rfc3339(start_ns), start_ns)
                return line.encode("utf-8", "surrogateescape")
        return self._form.line(_row(number, info))

    def _pattern(self, kind: tuple[str, CloseKind], info: ConnectionInfo) -> str:
        if len(self._patterns) >= _PATTERNS_KEPT:
            self._patterns.clear()
        line = self._form.line(connection_row(0, info) | _VARYING).decode("utf-8", "surrogateescape")
        self._patterns[kind] = found = _pattern_of(line)
        return found


def _row(number: int, info: ConnectionInfo) -> Row:
    """Return the row of a connection, with its cluster as soon as the capture set is known to have
    several.
    """
    return connection_row(number, info) | cluster_fact(info)


_NONE = "%"  # not a pattern: patterns double this sign


def _pattern_of(line: str) -> str:
    """Return a line with its varying values as `%s`, all of them in their order. Missing values print no
    text.
    """
    pattern, at = line.replace("%", "%%"), 0
    for mark in map(str, _VARYING.values()):
        found = pattern.find(mark)
        if pattern.count(mark) > 1 or -1 < found < at:  # the capture set is called so
            return _NONE
        before, behind = (
            (pattern[:found], pattern[found + len(mark) :]) if found >= 0 else (pattern[:at], pattern[at:])
        )
        before += "%s" if found >= 0 else "%.0s"
        pattern, at = before + behind, len(before)
    return pattern
