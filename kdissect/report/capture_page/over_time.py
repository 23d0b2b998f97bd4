"""The timeline: exchanges, errors, response times and findings, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.model.wording import plural
from kdissect.report.html.markup import Markup, element, join, section
from kdissect.report.html.timeline import Axis, bars_row, findings_lanes, slot_bar, time_axis
from kdissect.report.html.traffic import RESPONSE_TIMES
from kdissect.report.quantities import duration, grouped, rate
from kdissect.report.verdict import Verdict

Facts = dict[str, Any]
OVER_TIME = ("over-time", "Timeline")
"""Name and title of the section, for links."""


def over_time_section(over_time: Facts, verdict: Verdict) -> Markup:
    """Return rows of bars, and a row of marks for each rule that was broken."""
    points, width_ns = over_time["points"], over_time["interval_ns"]
    if not points:
        return section(*OVER_TIME, element("p", "No exchanges.", class_="empty"))
    first, last = points[0]["time_ns"], points[-1]["time_ns"]
    axis = Axis(first, width_ns, (last - first) // width_ns + 1)
    lanes, more = findings_lanes(verdict, axis)
    rows = [*_rows(points, axis), *lanes, *time_axis(axis)]
    about = f"From {rfc3339(first)}. One bar is {duration(width_ns)}. {RESPONSE_TIMES}"
    return section(*OVER_TIME, element("div", *rows, class_="timeline"), more, note=about)


def _rows(points: Sequence[Facts], axis: Axis) -> Iterator[Markup]:
    most = max(point["exchanges"] for point in points)
    bars = [
        _bar(axis, point, f"{plural(point['exchanges'], 'exchange', spec=',')}", (point["exchanges"], most))
        for point in points
    ]
    about = f"up to {rate(most, axis.width_ns)}"
    yield bars_row("exchanges", about, f"Exchanges over time, {about}", axis.slots, join(bars))
    if errors := [point for point in points if point["errors"]]:
        most = max(point["errors"] for point in errors)
        bars = [
            _bar(
                axis,
                point,
                f"{plural(point['errors'], 'exchange', spec=',')} with an error",
                (point["errors"], most),
                "failed",
            )
            for point in errors
        ]
        about = f"up to {grouped(most)} in {duration(axis.width_ns)}"
        yield bars_row("errors", about, f"Exchanges with an error over time, {about}", axis.slots, join(bars))
    if answered := [point for point in points if point["latency_ns"] is not None]:
        most = max(point["latency_ns"]["p99"] for point in answered)
        bars = [_latency_bar(axis, point, most) for point in answered]
        about = f"p50 in p99, up to {duration(most)}"
        yield bars_row("response time", about, f"Response times over time, {about}", axis.slots, join(bars))


def _latency_bar(axis: Axis, point: Facts, most: int) -> Markup:
    p50, p99 = point["latency_ns"]["p50"], point["latency_ns"]["p99"]
    title = element("title", f"{_when(axis, point)}: p50 {duration(p50)}, p99 {duration(p99)}")
    at, highest = _slot(axis, point), max(most, 1)
    return element("g", title, slot_bar(at, p99, highest, "p99"), slot_bar(at, p50, highest))


def _bar(axis: Axis, point: Facts, what: str, height: tuple[int, int], class_: str | None = None) -> Markup:
    title = element("title", f"{_when(axis, point)}: {what}")
    return element("g", title, slot_bar(_slot(axis, point), *height, class_))


def _slot(axis: Axis, point: Facts) -> int:
    return int((point["time_ns"] - axis.start_ns) // axis.width_ns)


def _when(axis: Axis, point: Facts) -> str:
    return f"+{duration(point['time_ns'] - axis.start_ns)}"
