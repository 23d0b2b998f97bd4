"""The columns of the exchange list: their content, their widths, and the order in which they give way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.engine.times import rfc3339
from kdissect.query.syntax.filter_tokens import quoted
from kdissect.report.quantities import duration, short_count
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import State
from kdissect.tui.widgets.safe_text import cut_middle, fitted, safe

_DAY_NS = 86_400 * 10**9
Cell = tuple[str, str]
"""Text, inert already, and the name of a style: empty, dim, name, good, odd, bad."""


class ExchangeColumn(NamedTuple):
    """A column.

    It is `least` to `width` cells wide, and with `grows` it takes the space that is left. Priority 0 stays
    longest in a narrow terminal. Columns of a low priority go before a text of up to `readable` cells is cut.
    A text is cut without a sign if the column `clips`. Its last word stays if the column `keeps_end`, its
    begin and its end if the column `keeps_both`.

    A quick filter on a cell names `field`. `value` is the cell's text in the filter language.
    """

    name: str
    title: str
    least: int
    width: int
    priority: int
    cell: Callable[[ExchangeLog, int], Cell]
    field: str = ""
    value: Callable[[ExchangeLog, int], str | None] | None = None
    right: bool = False
    grows: bool = False
    clips: bool = False
    keeps_end: bool = False
    keeps_both: bool = False
    readable: int = 0

    def fitted(self, text: str, cells: int) -> str:
        """Return a cell's text in exactly `cells` cells."""
        if self.clips:
            text = text[:cells]
        begin, _, end = text.rpartition(" ")
        if self.keeps_end and begin and len(text) > cells > len(end) + 2:
            return fitted(begin, cells - len(end) - 1) + " " + end
        if self.keeps_both:
            text = cut_middle(text, cells)
        return fitted(text, cells, self.right)


def _time(log: ExchangeLog, row: int) -> Cell:
    """Return the time of day, or with a date instead of sub-second digits on a later day than the
    first row.
    """
    time_ns = log.time_ns(row)
    text = rfc3339(time_ns)
    is_same_day = time_ns // _DAY_NS == log.time_ns(0) // _DAY_NS
    return (text[11:26] if is_same_day else f"{text[5:10]} {text[11:19]}"), ""


def _api(log: ExchangeLog, row: int) -> Cell:
    key = log.api_key(row)
    if key is None:
        return ("SASL token" if log.is_token(row) else "unknown"), "dim"
    return f"{api_name(key) or f'key {key}'} v{log.api_version(row)}", "name"


def _topics(log: ExchangeLog, row: int) -> Cell:
    topics = log.topic_texts(row)
    more = f" +{len(topics) - 1}" if len(topics) > 1 else ""
    return (safe(topics[0]) + more if topics else ""), ""


def _size(log: ExchangeLog, row: int) -> Cell:
    request, response = log.bytes_on_wire(row, "request"), log.bytes_on_wire(row, "response")
    return f"{_short(request)} {_short(response)}", ""


def _short(count: int | None) -> str:
    return f"{'-' if count is None else short_count(count):>4}"


def _latency(log: ExchangeLog, row: int) -> Cell:
    return _duration(log.latency_ns(row)), ""


def _rtt(log: ExchangeLog, row: int) -> Cell:
    return _duration(log.rtt_ns(row)), "dim"


def _delay(log: ExchangeLog, row: int) -> Cell:
    delay = log.delay_ns(row)
    if delay is None and log.latency_ns(row) is not None:
        return "?", "dim"  # too many to keep
    return (_duration(delay) if delay else ""), "odd"


def _duration(value: int | None) -> str:
    return "" if value is None else duration(value)


def _outcome(log: ExchangeLog, row: int) -> Cell:
    errors, state = log.errors(row), log.state(row)
    odd = " ~" if log.is_odd(row) else ""
    if errors:
        return ", ".join(str(error_name(code)) for code in errors) + odd, "bad"
    if state is State.COMPLETE:
        return f"ok{odd}", "odd" if odd else "good"
    if state is State.NO_RESPONSE_EXPECTED:
        return f"no reply due{odd}", "dim"
    if state is State.UNANSWERED:
        return f"no answer{odd}", "bad"
    if state is State.INCOMPLETE:
        return f"cut off{odd}", "bad"
    return f"orphan{odd}", "odd"


def _findings(log: ExchangeLog, row: int) -> Cell:
    codes = log.codes(row)
    if not codes:
        return "", ""
    return f"{codes[0]}{f' +{len(codes) - 1}' if len(codes) > 1 else ''}", "odd"


def _quoted(text: str | None) -> str | None:
    """Return a value of the filter language, or None if it cannot be written safely for a screen."""
    value = None if text is None else quoted(text)
    return value if value is not None and value.isprintable() else None


def _first_topic(log: ExchangeLog, row: int) -> str | None:
    topics = log.topics(row)
    return _quoted(topics[0]) if topics else None


def _api_value(log: ExchangeLog, row: int) -> str | None:
    key = log.api_key(row)
    return None if key is None else str(api_name(key) or key)


def _latency_value(log: ExchangeLog, row: int) -> str | None:
    return _ns(log.latency_ns(row))


def _rtt_value(log: ExchangeLog, row: int) -> str | None:
    return _ns(log.rtt_ns(row))


def _delay_value(log: ExchangeLog, row: int) -> str | None:
    return _ns(log.delay_ns(row))


def _ns(value: int | None) -> str | None:
    return None if value is None else f"{value}ns"


def _error_value(log: ExchangeLog, row: int) -> str | None:
    errors = log.errors(row)
    return str(error_name(errors[0])) if errors else None


def _code_value(log: ExchangeLog, row: int) -> str | None:
    codes = log.codes(row)
    return codes[0] if codes else None


def _client(log: ExchangeLog, row: int) -> Cell:
    return log.connection(row).client_text, ""


def _broker(log: ExchangeLog, row: int) -> Cell:
    return log.connection(row).broker_text, ""


def _client_id(log: ExchangeLog, row: int) -> Cell:
    return safe(log.client_id(row) or ""), "dim"


def _time_value(log: ExchangeLog, row: int) -> str:
    return rfc3339(log.time_ns(row))


def _client_value(log: ExchangeLog, row: int) -> str:
    return str(log.connection(row).client)


def _broker_value(log: ExchangeLog, row: int) -> str:
    return str(log.connection(row).broker)


def _client_id_value(log: ExchangeLog, row: int) -> str | None:
    return _quoted(log.client_id(row))


COLUMNS: tuple[ExchangeColumn, ...] = (
    ExchangeColumn("number", "#", 7, 7, 5, lambda log, row: (str(row + 1), "dim"), right=True),
    ExchangeColumn("time", "Time (UTC)", 12, 15, 1, _time, "time", _time_value, clips=True),
    ExchangeColumn("client", "Client", 15, 21, 3, _client, "client", _client_value),
    ExchangeColumn("broker", "Broker", 15, 21, 7, _broker, "broker", _broker_value),
    ExchangeColumn(
        "client_id",
        "Client id",
        9,
        14,
        2,
        _client_id,
        "client_id",
        _client_id_value,
        keeps_both=True,
        readable=16,
    ),
    ExchangeColumn("api", "API", 17, 20, 0, _api, "api", _api_value, keeps_end=True, readable=24),
    ExchangeColumn("topic", "Topic", 10, 14, 0, _topics, "topics", _first_topic, grows=True, readable=14),
    ExchangeColumn("size", "Req Resp", 10, 10, 6, _size, right=True),
    ExchangeColumn("latency", "Latency", 9, 9, 1, _latency, "latency", _latency_value, right=True),
    ExchangeColumn("rtt", "RTT", 9, 9, 8, _rtt, "rtt", _rtt_value, right=True),
    ExchangeColumn("delay", "Delay", 9, 9, 9, _delay, "delay", _delay_value, right=True),
    ExchangeColumn(
        "outcome", "Outcome", 10, 18, 0, _outcome, "errors", _error_value, grows=True, readable=26
    ),
    ExchangeColumn("findings", "Findings", 9, 10, 4, _findings, "has finding", _code_value),
)

GUTTER = 2
_LESSER = 6  # priority from which columns give way to texts that are not readable
# The cells that a growing column may add: error names are no longer.
_MOST_GROWTH = 24
MAX_CELLS = 48  # of a column, whatever its texts


def known(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that columns have: saved names may be of another version."""
    return tuple(column.name for column in COLUMNS if column.name in names)


def fitting(
    names: Sequence[str], width: int, longest: Mapping[str, int] | None = None
) -> list[tuple[ExchangeColumn, int]]:
    """Return the columns of these names that fit, with their widths in cells.

    `longest` are the cells of the longest text that each drawn column has. Without it, columns have their
    usual widths. A column with short texts leaves its cells to other columns.
    """
    chosen = [column for column in COLUMNS if not names or column.name in names]
    ranges = {column.name: _range(column, longest) for column in chosen}
    for column in sorted(chosen, key=lambda column: -column.priority):
        is_short = sum(ranges[one.name][1] + 1 for one in chosen) > width - GUTTER
        if longest and is_short and not longest.get(column.name) and not names:
            chosen.remove(column)  # no row on the screen has a text there, and others need its cells
    while len(chosen) > 1 and _left(chosen, ranges, width) < 0:
        chosen.remove(max(chosen, key=lambda column: column.priority))
    readable = {one.name: max(ranges[one.name][0], min(ranges[one.name][1], one.readable)) for one in chosen}
    while longest and not names and sum(readable[one.name] + 1 for one in chosen) > width - GUTTER:
        lesser = max(chosen, key=lambda column: column.priority)
        if lesser.priority < _LESSER:
            break
        chosen.remove(lesser)
    left = max(_left(chosen, ranges, width), 0)
    widths = {column.name: ranges[column.name][0] for column in chosen}
    by_priority = sorted(chosen, key=lambda column: column.priority)
    for goals in (readable, {column.name: ranges[column.name][1] for column in chosen}):
        for column in by_priority:
            more = min(goals[column.name] - widths[column.name], left)
            widths[column.name] += more
            left -= more
    growing = [column for column in reversed(chosen) if column.grows]
    for index, column in enumerate(growing):
        more = min(left // (len(growing) - index), _MOST_GROWTH if index + 1 < len(growing) else left)
        widths[column.name] += more
        left -= more
    return [(column, widths[column.name]) for column in chosen]


def _range(column: ExchangeColumn, longest: Mapping[str, int] | None) -> tuple[int, int]:
    """Return the least width and the wanted one."""
    if not longest:
        return column.least, column.width
    wanted = min(
        max(longest.get(column.name, 0), len(column.title) + 1), MAX_CELLS
    )  # 1: the mark of the order
    return min(column.least, wanted), wanted


def _left(columns: Sequence[ExchangeColumn], ranges: Mapping[str, tuple[int, int]], width: int) -> int:
    return width - GUTTER - sum(ranges[column.name][0] + 1 for column in columns)
