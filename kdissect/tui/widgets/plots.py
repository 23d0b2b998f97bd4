"""Plots of characters: columns over time, bars of percentiles. Plain values in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.model.wording import plural
from kdissect.report.quantities import byte_rate, duration, rate
from kdissect.tui.widgets.styled_lines import Line

Facts = dict[str, Any]
_EIGHTHS = " ▁▂▃▄▅▆▇█"
PERCENTILES = ("min", "p50", "p90", "p95", "p99", "p999", "max")
_TITLES = {"p999": "p99.9"}


def columns(values: Sequence[float], width: int, height: int) -> list[str]:
    """Draw columns in eighths of a cell, the tallest `height` cells.

    If there are more values than cells, neighbours are joined and the largest is drawn.
    """
    if not values or width < 1:
        return []
    drawn = _resampled(values, min(width, len(values)))
    largest = max(drawn) or 1
    eighths = [max(round(value * height * 8 / largest), 1 if value else 0) for value in drawn]
    return [
        "".join(_EIGHTHS[max(0, min(8, eighth - level * 8))] for eighth in eighths)
        for level in reversed(range(height))
    ]


def _resampled(values: Sequence[float], cells: int) -> list[float]:
    count = len(values)
    return [max(values[at * count // cells : max((at + 1) * count // cells, at * count // cells + 1)])
            for at in range(cells)]  # fmt: skip


def bar(value: float, largest: float, width: int) -> str:
    """Draw a bar in halves of a cell, at least a sliver for anything above 0."""
    halves = round(value * width * 2 / largest) if largest > 0 else 0
    halves = max(halves, 1 if value > 0 else 0)
    return "━" * (halves // 2) + ("╸" if halves % 2 else "")


def rate_plot(points: Sequence[Facts], interval_ns: int, width: int, height: int) -> Iterator[Line]:
    """Draw exchanges over time, errors below them. `points` cover all intervals, without holes."""
    if not points:
        return
    counts = [point["exchanges"] for point in points]
    top = rate(max(counts), interval_ns)
    sent = max((point["request_bytes"] or 0) + (point["response_bytes"] or 0) for point in points)
    yield (
        ("exchanges over time", "bold"),
        (f"  at most {top}{f', {byte_rate(sent, interval_ns)}' if sent else ''}; a column is "
         f"{duration(interval_ns * -(-len(points) // max(min(width, len(points)), 1)))} or less", "dim"),
    )  # fmt: skip
    for line in columns(counts, width, height):
        yield ((line, "name"),)
    errors = [point["errors"] for point in points]
    if any(errors):
        (line,) = columns(errors, width, 1)
        yield ((line, "bad"),)
        yield ((f"errors: {sum(errors)}, at most {rate(max(errors), interval_ns)}", "bad"),)
    yield _axis(points, width)


def latency_plot(points: Sequence[Facts], width: int, height: int) -> Iterator[Line]:
    """Draw the 99th and 50th percentile of response times over time, each on its own scale from 0."""
    times = [point.get("latency_ns") for point in points]
    if not any(times):
        return
    for name in ("p99", "p50"):
        values = [0 if each is None else each[name] for each in times]
        title = "response times over time, " if name == "p99" else ""
        yield ((f"{title}{name}", "bold"), (f"  at most {duration(max(values))} in an interval", "dim"))
        for line in columns(values, width, height):
            yield ((line, "name"),)
    yield _axis(points, width)


def _axis(points: Sequence[Facts], width: int) -> Line:
    first, last = points[0]["time"][11:19], points[-1]["time"][11:19]
    room = min(width, len(points)) - len(first) - len(last)
    return ((f"{first}{' ' * max(room, 1)}{last}", "dim"),)


def percentile_plot(title: str, times: Facts | None, width: int) -> Iterator[Line]:
    """Yield percentiles of times as bars, on a scale that begins at 0."""
    if times is None:
        return
    yield ((title, "bold"), (f"  {plural(times['count'], 'value')}", "dim"))
    largest = times["max"]
    for name in PERCENTILES:
        value = times[name]
        yield (
            (f"{_TITLES.get(name, name):>5}  {duration(value):>10}  ", ""),
            (bar(value, largest, max(width - 20, 10)), "name"),
        )
