"""`kdissect stats`: how many, how fast, how large, by whatever the user asks for."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_all, read_and_show, read_blocks, read_events
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.clock_options import add_clocks
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import add_selection
from kdissect.cli.options.filter_option import add_filter, is_by_kind, open_filtered, selected
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.live.metrics_options import add_metrics, metering
from kdissect.cli.options.output_options import positive, printing
from kdissect.cli.options.wanted_names import near_names
from kdissect.cli.output import Output
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import is_compiled
from kdissect.report.cells import time_column
from kdissect.report.columns.one_way import clock_lines, one_way_columns
from kdissect.report.columns.time_split import split_columns, vantage_lines
from kdissect.report.columns.traffic import (
    error_columns,
    error_rows,
    rack_lines,
    time_columns,
    time_rows,
    told_columns,
    traffic_columns,
    traffic_rows,
)
from kdissect.report.quantities import duration
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.dimensions import DIMENSIONS, Context, key_maker
from kdissect.stats.racks import Racks
from kdissect.stats.times.one_way import OneWay
from kdissect.stats.times.response_time import response_time
from kdissect.stats.times.time_split import PARTS, PHASES, TimeSplit
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import ORDERS, traffic_facts

if TYPE_CHECKING:
    from kdissect.stats.times.stalls import Stalls

DEFAULT_TOP = 30  # rows of a table: a screen
_POINTS_SHOWN = 20
_ROWS, _TOLD, _STALLS = "rows", "told_elsewhere", "stalls"
_COLUMNS = (
    "exchanges", "failed", "request_bytes", "response_bytes", "first_time", "last_time",
    *(f"{name}.{part}" for name in ("latency_ns", "broker_ns") for part in ("p50", "p90", "p99", "max")),
    "unclear", "empty_early", "wait_ns.count", "wait_ns.sum", "throttle_ns.count", "throttle_ns.sum",
    "errors",
)  # fmt: skip
POINTS_IN_JSON = 200  # in JSON
_SPLIT_COLUMNS = (
    "exchanges", "time_ns", *(f"{part}_ns" for part in PARTS), "logged", *(f"{name}_ns" for name in PHASES),
    "pauses", "client_ns",
)  # fmt: skip
_SPLIT_TABLES = ("split", "one_way")
_BAR_WIDTH = 40
_EIGHTHS = ("", *(chr(ord("\N{LEFT ONE EIGHTH BLOCK}") - more) for more in range(7)))


def run(arguments: Sequence[str]) -> int:
    """Print the statistics of the captures and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        counting = _Counting(dissection, options)
        read_and_show(dissection, options, output, counting.read, counting.show)

    return printing(parser, options, dissection, body)


def _parser() -> ArgumentParser:
    parser = command_parser("stats", "Count exchanges, with response times, rates, sizes and errors.")
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_selection(parser)
    add_filter(parser, "count only exchanges for which EXPR holds", times=False)
    add = parser.add_argument_group("what to count").add_argument
    add("--by", metavar="NAME,...", type=_names, default=["api"], help=(
        f"what rows are grouped by: {', '.join(DIMENSIONS)} (default: api)"
    ))  # fmt: skip
    add(
        "--top", metavar="N", type=positive, help=f"as --limit (default: {DEFAULT_TOP}, in other formats all)"
    )
    add("--over-time", action="store_true", help="also rates in one interval after the other")
    add("--split", action="store_true", help=(
        "also where the time went: network, retransmissions, broker (of request logs: its phases), throttle,"
        " client. Also stalls of brokers"
    ))  # fmt: skip
    add_clocks(parser)
    add_metrics(parser)
    add_tables(parser, _ROWS, "errors", "over_time", *_SPLIT_TABLES, _TOLD, _STALLS, sort=(
        f"order of the rows. Short: {', '.join(ORDERS)} (broker: its p99, throttle: all of it)"
    ), orders=ORDERS, times=True)  # fmt: skip
    return parser


def _names(text: str) -> list[str]:
    names = [name.replace("-", "_") for name in text.split(",") if name]
    for name in names:
        if name not in DIMENSIONS:
            near = near_names(name, DIMENSIONS)
            hint = f"; did you mean {near[0]}?" if near else f"; names are {', '.join(DIMENSIONS)}"
            raise ArgumentTypeError(f"rows cannot be grouped by {name!r}{hint}")
    if not names:
        raise ArgumentTypeError("name at least one")
    return list(dict.fromkeys(names))


class _Counting:
    """Counts what a command asks for, and shows it."""

    def __init__(self, dissection: Dissection, options: Namespace) -> None:
        self._dissection, self._options = dissection, options
        self._context = context = Context.of(dissection.topics, options.by)
        self._by_rack = context.racks is not None
        if options.table == _TOLD and not self._by_rack:
            self._context = context = context._replace(racks=Racks())
        keys_of = key_maker(options.by, context)
        self._traffic = Traffic(keys_of, context.racks)
        self._stalls = _stalls() if options.split or options.table == _STALLS else None
        self._split = None
        if options.split or options.table in _SPLIT_TABLES:
            sets = len({file.capture_set for file in dissection.captures.files})
            one_way = OneWay(sets, options.clocks_within) if sets > 1 else None
            self._split = TimeSplit(keys_of, one_way)
        self._counter: BlockCounter | None = None

    def read(self) -> None:
        """Read the input."""
        dissection, options = self._dissection, self._options
        test = selected(options, dissection)
        context, traffic, split, stalls = self._context, self._traffic, self._split, self._stalls

        def take(event: Event) -> None:
            is_wanted = isinstance(event, Exchange) and count(ExchangeView(event))
            if stalls is not None:
                stalls.add(event, is_wanted)
            if split is not None and isinstance(event, ConnectionClosed):
                split.close(event.connection)

        def count(view: ExchangeView) -> bool:
            context.learn(view, options.by)
            is_wanted = test is None or test(view.exchange)
            if is_wanted:
                times = traffic.add(view)
            else:
                dissection.topics.pass_by(view.exchange)
                times = None if split is None else response_time(view, traffic.watermarks)
            if split is not None:
                split.add(view, times, is_wanted)
            return is_wanted

        in_blocks = (
            is_compiled and BlockCounter.counts(options.by) and (self._by_rack or context.racks is None)
        )
        with metering(options, dissection):
            if split is not None:
                read_all(dissection, _splitting(take, split))
            elif in_blocks and (test is None or is_by_kind(options)):
                self._counter = counter = BlockCounter(traffic, options.by, context, test)
                count_blocks(dissection, counter, count, stalls, test)
            else:
                read_events(dissection, take)

    def show(self, output: Output) -> None:
        """Print what was counted so far."""
        if self._counter is not None:
            self._counter.catch_up()  # it is read still, where somebody looks on
        _print(self._traffic, self._split, self._stalls, self._options, output)


def _stalls() -> Stalls:
    from kdissect.stats.times.stalls import Stalls  # start-up: of --split

    return Stalls()


def count_blocks(
    dissection: Dissection,
    counter: BlockCounter,
    take: Callable[[ExchangeView], object],
    stalls: Stalls | None = None,
    test: Callable[[Exchange], bool] | None = None,
) -> None:
    """Have a counter count the events that it can, and `take` take further ones. Compiled only.

    Requests that `test` takes wait for `stalls`.
    """
    waiting = [] if stalls is None else [_waiting(stalls, test)]

    def take_event(event: Event) -> None:
        if isinstance(event, Exchange):
            take(ExchangeView(event))
        elif isinstance(event, ConnectionClosed):
            counter.close(event.connection)
            if stalls is not None:
                stalls.close(event)

    try:
        read_blocks(dissection, take_event, counter.count, waiting)
    finally:
        counter.catch_up()


def _waiting(stalls: Stalls, test: Callable[[Exchange], bool] | None) -> BlockTaker:
    """Return the taker of blocks for the stalls, in which the requests wait that a test takes."""

    def add(exchange: Exchange) -> None:
        stalls.add_exchange(exchange, test is None or test(exchange))

    return BlockTaker.of_counted(stalls.take_block, add)


def _splitting(take: Callable[[Event], object], split: TimeSplit) -> Callable[[Event], None]:
    """Return the taker of all captures' events, in which a connection in several captures counts once."""
    one_way = split.one_way

    def take_event(event: Event) -> None:
        if event.connection.same_as is None:
            take(event)
        elif one_way is not None and isinstance(event, Exchange):
            one_way.add(event)

    return take_event


def _print(
    traffic: Traffic, split: TimeSplit | None, stalls: Stalls | None, options: Namespace, output: Output
) -> None:
    top, order = options.top or options.limit, options.sort or "exchanges"
    if order in ORDERS and options.table in (None, _ROWS):  # rows come so, and those behind make one
        options.sort = options.limit = None
    else:
        top, order, options.limit = None, "exchanges", top
    is_text = options.format in (None, "table") and not (options.fields or options.table or options.sort)
    width = _POINTS_SHOWN if is_text else POINTS_IN_JSON
    facts = traffic_facts(traffic, options.by, top or (DEFAULT_TOP if is_text else None), width, order)
    span_ns = (traffic.total.last_ns or 0) - (traffic.total.first_ns or 0)
    tables = [
        RowTable(_ROWS, lambda: facts["rows"], (*facts["by"], *_COLUMNS)),
        RowTable("errors", lambda: error_rows(facts, facts["by"])),
        RowTable("over_time", lambda: time_rows(facts["over_time"])),
        RowTable("split", lambda: facts["split"]["rows"], (*facts["by"], *_SPLIT_COLUMNS)),
        RowTable("one_way", lambda: _one_way(facts)),
        RowTable(_TOLD, lambda: _told(facts)),
        RowTable(_STALLS, lambda: facts["stalls"]),
    ]
    if stalls is not None:
        facts["stalls"] = stalls.facts(traffic.throttled)
    if split is not None:
        keys = [tuple(row[name] for name in facts["by"]) for row in facts["rows"]]
        named = None if traffic.racks is None else traffic.racks.namer(options.by)
        facts["split"] = split.facts(keys, facts["by"], named)
    write_tables(options, output, facts, tables, lambda: _write_tables(facts, span_ns, options, output))


def _write_stalls(tables: Tables, rows: Sequence[Facts]) -> None:
    if rows:
        from kdissect.report.columns.stalls import STALLS_TITLE, stall_columns  # start-up: of --split

        tables.section(STALLS_TITLE, [time_column("since", "from", of_day=True), *stall_columns()], rows)


def _write_tables(facts: Facts, span_ns: int, options: Namespace, output: Output) -> None:
    """Write the table of rows, the errors, and with `--over-time` the rates."""
    tables = Tables(options, output)
    by = facts["by"]
    tables.table(traffic_columns(by, span_ns), traffic_rows(facts, by[0]))
    errors = [] if "error" in by else list(error_rows(facts, by))  # the rows themselves show them
    if errors:
        tables.heading("errors by code")
        tables.table(error_columns(), errors)
    _write_stalls(tables, facts.get("stalls", []))
    if told := _told(facts):
        tables.heading("asked to read from another replica")
        tables.table(told_columns(), told)
    unknown = list(rack_lines(facts.get("racks")))
    tables.lines("whose rack is not known", unknown)
    if options.split:
        tables.heading("where the time went, on the mean of an exchange")
        rows = list(traffic_rows(facts["split"], by[0]))
        tables.table(split_columns(by, is_logged=facts["split"]["total"]["logged"] > 0), rows)
        for line in vantage_lines(facts["split"]):
            tables.line(line)
        if facts["split"]["one_way"]:
            ways = facts["split"]["one_way"]
            tables.heading("between both captures, on the mean and of the shortest exchange")
            tables.table(one_way_columns(by), traffic_rows(ways | {"other": None}, by[0]))
            for line in clock_lines(ways["clocks"]):
                tables.line(line)
    if options.over_time:
        over_time = facts["over_time"]
        tables.heading(f"over time, in intervals of {duration(over_time['interval_ns'])}")
        tables.table(time_columns(over_time["interval_ns"]), _points(over_time))


def _one_way(facts: Facts) -> list[Facts]:
    """Return the paths between two captures, or none if only one was read."""
    found: list[Facts] = (facts["split"]["one_way"] or {}).get("rows", [])
    return found


def _told(facts: Facts) -> list[Facts]:
    """Return the clients that a broker sent to another replica, or none if racks were not requested."""
    found: list[Facts] = facts.get("racks", {}).get(_TOLD, [])
    return found


def _points(over_time: Facts) -> list[Facts]:
    """Return the intervals with their bars."""
    rows = time_rows(over_time)
    drawn = _bars([row["exchanges"] for row in rows])
    return [row | {"bar": bar} for row, bar in zip(rows, drawn, strict=True)]


def _bars(values: Sequence[float], width: int = _BAR_WIDTH) -> list[str]:
    """Return a bar for each value, the largest `width` cells long, in eighths of a cell."""
    largest = max(values, default=0) or 1
    drawn = []
    for value in values:
        whole, eighths = divmod(int(width * 8 * value / largest), 8)
        drawn.append("\N{FULL BLOCK}" * whole + _EIGHTHS[eighths])
    return drawn
