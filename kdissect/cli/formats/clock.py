"""Times in tables, by `--time`: the time of day, in UTC or in the local zone, or the time since the first
packet or the row above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from kdissect.cli.options.output_options import CLOCKS
from kdissect.engine.times import SECOND_NS, ns_of, rfc3339
from kdissect.report.cells import Cell, TableColumn

Row = dict[str, Any]
UTC, LOCAL, RELATIVE, DELTA = CLOCKS
_MICROSECOND_NS = 1000
_TO_MS = -3  # reports show no microseconds


class Clock:
    """Makes texts of times in nanoseconds since 1970. `start_ns` gives that of the first packet."""

    def __init__(self, kind: str, start_ns: Callable[[], int]) -> None:
        self.kind = kind
        self._start_ns = start_ns
        self._before: int | None = None

    def title(self, column: str) -> str:
        """Return the title of a time column, with the zone."""
        if self.kind == RELATIVE:
            return "since start"
        if self.kind == DELTA:
            return "delta"
        zone = "UTC" if self.kind == UTC else datetime.now().astimezone().tzname() or LOCAL
        return f"{column} ({zone})"

    def text(self, time_ns: int) -> str:
        """Return a time of day, or a number of seconds."""
        if self.kind == RELATIVE:
            return _seconds(time_ns - self._start_ns())
        if self.kind == DELTA:
            before, self._before = self._before, time_ns
            return _seconds(0 if before is None else time_ns - before)
        return self.dated(time_ns)[11:]

    def dated(self, time_ns: int) -> str:
        """Date and time of day."""
        if self.kind == UTC:
            return rfc3339(time_ns)[:26].replace("T", " ")
        seconds, rest = divmod(time_ns, SECOND_NS)
        try:
            local = datetime.fromtimestamp(seconds)
        except (OverflowError, OSError, ValueError):  # of a damaged capture
            return rfc3339(time_ns)[:26].replace("T", " ")
        return f"{local:%Y-%m-%d %H:%M:%S}.{rest // _MICROSECOND_NS:06}"


def _seconds(span_ns: int) -> str:
    sign = "-" if span_ns < 0 else ""
    seconds, rest = divmod(abs(span_ns), SECOND_NS)
    return f"{sign}{seconds}.{rest // _MICROSECOND_NS:06}"


def clocked(
    columns: Sequence[TableColumn], title: str, time_ns: Callable[[Row], int], clock: Clock
) -> list[TableColumn]:
    """Return the columns, that of a time by this title as the clock shows it."""
    return [_clocked(column, time_ns, clock) if column.title == title else column for column in columns]


def clocked_report(
    columns: Sequence[TableColumn], kind: str, start_ns: Callable[[], int]
) -> list[TableColumn]:
    """Return the columns of a report, its times as `kind` says, and their headings with the zone."""
    return [_of_report(column, Clock(kind, start_ns)) if column.moment else column for column in columns]


def _of_report(column: TableColumn, clock: Clock) -> TableColumn:
    title = clock.title(column.title)
    if clock.kind == UTC:
        return column._replace(title=title)
    field, is_span = column.moment, clock.kind in (RELATIVE, DELTA)
    if is_span and column.title != "time":
        title = f"{column.title} ({title})"

    def shown(row: Row, dated: bool = column.dated is None) -> Cell:
        text = row[field]
        if text is None or text.startswith("@"):  # none, or one that is no date
            return column.cell(row)
        time_ns = ns_of(text)
        return Cell((clock.dated(time_ns) if dated and not is_span else clock.text(time_ns))[:_TO_MS])

    def with_date(row: Row) -> Cell:
        return shown(row, dated=True)

    dated = None if is_span or column.dated is None else with_date
    return column._replace(title=title, cell=shown, dated=dated, right=is_span)


def _clocked(column: TableColumn, time_ns: Callable[[Row], int], clock: Clock) -> TableColumn:
    named = column._replace(title=clock.title(column.title))
    if clock.kind in (UTC, LOCAL):
        named = named._replace(dated=lambda row: Cell(clock.dated(time_ns(row))))
    if clock.kind == UTC:
        return named
    return named._replace(
        cell=lambda row: Cell(clock.text(time_ns(row))), value="", right=clock.kind in (RELATIVE, DELTA)
    )
