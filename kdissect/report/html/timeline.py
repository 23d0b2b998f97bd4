"""Time lines: bars of exchanges above rows of findings, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kdissect.engine.times import rfc3339
from kdissect.model.finding import Finding
from kdissect.model.wording import plural
from kdissect.report.html.markup import Markup, element, join, section
from kdissect.report.quantities import duration, grouped
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.traffic_counts import TimeLine

# Rules with a row of their own, the most severe first: more do not fit a screen.
MAX_RULES = 16
_HEIGHT = 100
_WIDTH = 1000
_MARK = 4  # the narrowest mark, so that a single finding can be seen
_TICKS = 5


class Axis(NamedTuple):
    """The time axis of a picture: where it begins, and how long its slots are, in nanoseconds."""

    start_ns: int
    width_ns: int
    slots: int


def timeline_section(verdict: Verdict) -> Markup:
    """Return bars of exchanges above rows of findings, on one time axis."""
    times = verdict.coverage.traffic.times
    if not times.span():
        return section("timeline", "Timeline", element("p", "No exchanges.", class_="empty"))
    axis = Axis(times.start_ns, times.width_ns, times.span())
    lanes, more = findings_lanes(verdict, axis)
    chart = element("div", *_bars(times), *lanes, *time_axis(axis), class_="timeline")
    return section("timeline", "Timeline", chart, more, note=_note(times))


def findings_lanes(verdict: Verdict, axis: Axis) -> tuple[list[Markup], Markup | str]:
    """Return a row of marks for each rule with findings, and a note on rules without a row."""
    codes: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        codes.setdefault(finding.code, []).append(finding)
    rows = [_findings_row(found, axis) for found in list(codes.values())[:MAX_RULES]]
    left = len(codes) - len(rows)
    without = f"{plural(left, 'more rule', spec=',')} without a row."
    return rows, element("p", without, class_="note") if left else ""


def _note(times: TimeLine) -> str:
    row = times.row()
    lost = sum(slot[1] for slot in row)
    what = plural(sum(slot[0] for slot in row), "exchange", spec=",")
    unanswered = f", {grouped(lost)} of them unanswered" if lost else ""
    return f"{what}{unanswered}, from {rfc3339(times.start_ns)}; one bar is {duration(times.width_ns)}."


def _bars(times: TimeLine) -> Iterator[Markup]:
    row = times.row()
    highest = max(total for total, _ in row)
    bars = join(_bar(number, slot, highest, times) for number, slot in enumerate(row) if slot[0])
    label = f"Exchanges over time, up to {highest} in {duration(times.width_ns)}"
    yield bars_row("exchanges", f"up to {grouped(highest)}", label, len(row), bars)


def bars_row(name: str, about: str, label: str, slots: int, bars: Markup) -> Markup:
    """Return a row of bars, one for each slot of the time axis. `label` describes them to screen readers."""
    title = element("div", name, element("small", about), class_="lane-name")
    return join((title, _svg(label, slots, bars, "bars")))


def _bar(number: int, slot: tuple[int, int], highest: int, times: TimeLine) -> Markup:
    total, lost = slot
    said = f"+{duration(number * times.width_ns)}: {plural(total, 'exchange', spec=',')}"
    if not lost:
        return element("g", element("title", said), slot_bar(number, total, highest))
    title = element("title", f"{said}, {grouped(lost)} unanswered")
    return element("g", title, slot_bar(number, total, highest), slot_bar(number, lost, highest, "lost"))


def slot_bar(number: int, value: float, highest: float, class_: str | None = None) -> Markup:
    """Return the bar of a slot, as high as its value is in relation to the highest of all."""
    tall = max(round(value / highest * _HEIGHT, 1), 1.0)
    return element("rect", x=number, y=f"{_HEIGHT - tall:g}", width="0.9", height=f"{tall:g}", class_=class_)


def _findings_row(found: Sequence[Finding], axis: Axis) -> Markup:
    first = found[0]
    marks = join(_mark(finding, axis) for finding in found)
    label = f"{first.code}: {plural(sum(finding.count for finding in found), 'time', spec=',')}"
    name = element("div", first.code, element("small", first.name), class_="lane-name")
    return join((name, _svg(label, _WIDTH, marks, f"lane {first.severity}", _HEIGHT // 5)))


def _mark(finding: Finding, axis: Axis) -> Markup:
    start, end = _x(finding.place.time_ns, axis), _x(finding.last_time_ns, axis)
    wide = max(end - start, _MARK)
    when = f"{plural(finding.count, 'time', spec=',')} from {rfc3339(finding.place.time_ns)}"
    title = element("title", f"{when}: {finding.seen}")
    return element("g", title, element("rect", x=min(start, _WIDTH - wide), y=4, width=wide, height=12, rx=2))


def _x(time_ns: int, axis: Axis) -> int:
    share = (time_ns - axis.start_ns) / (axis.slots * axis.width_ns)
    return round(min(max(share, 0), 1) * _WIDTH)


def time_axis(axis: Axis) -> Iterator[Markup]:
    """Yield the last row of a time line: times since its start."""
    step = axis.slots * axis.width_ns // (_TICKS - 1)
    ticks = (element("span", duration(step * tick) if tick else "0") for tick in range(_TICKS))
    yield element("div", class_="lane-name")
    yield element("div", *ticks, class_="axis")


def _svg(label: str, width: int, content: Markup, class_: str, height: int = _HEIGHT) -> Markup:
    return element(
        "svg", content, viewBox=f"0 0 {width} {height}", preserveAspectRatio="none", role="img",
        aria_label=label, class_=class_,
    )  # fmt: skip
