"""When exchanges took place, and when what was found was seen."""

from collections.abc import Iterator, Sequence

from kdissect.engine.times import rfc3339
from kdissect.model.finding import Finding
from kdissect.model.wording import plural
from kdissect.report.html.markup import Markup, element, join, section
from kdissect.report.quantities import duration, grouped
from kdissect.report.verdict import Verdict
from kdissect.rules.traffic_counts import TimeLine

# Rules with a row of their own, the most severe first: more do not fit a screen.
MAX_ROWS = 16
_HEIGHT = 100
_WIDTH = 1000
_MARK = 4  # the narrowest mark, so that a single finding can be seen
_TICKS = 5


def timeline_section(verdict: Verdict) -> Markup:
    """Bars of exchanges over rows of findings, on one time axis."""
    times = verdict.coverage.traffic.times
    if not times.span():
        return section("timeline", "Timeline", element("p", "No exchanges.", class_="empty"))
    codes: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        codes.setdefault(finding.code, []).append(finding)
    rows = [_findings_row(found, times) for found in list(codes.values())[:MAX_ROWS]]
    left = len(codes) - len(rows)
    without = f"{plural(left, 'more rule', spec=',')} without a row."
    more = element("p", without, class_="note") if left else ""
    chart = element("div", *_bars(times), *rows, *_axis(times), class_="timeline")
    return section("timeline", "Timeline", chart, more, note=_note(times))


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
    yield element("div", "exchanges", element("small", f"up to {grouped(highest)}"), class_="lane-name")
    yield _svg(f"Exchanges over time, up to {highest} in {duration(times.width_ns)}", len(row), bars, "bars")


def _bar(number: int, slot: tuple[int, int], highest: int, times: TimeLine) -> Markup:
    total, lost = slot
    said = f"+{duration(number * times.width_ns)}: {plural(total, 'exchange', spec=',')}"
    if not lost:
        return element("g", element("title", said), _rect(number, total, highest))
    title = element("title", f"{said}, {grouped(lost)} unanswered")
    return element("g", title, _rect(number, total, highest), _rect(number, lost, highest, "lost"))


def _rect(number: int, value: int, highest: int, class_: str | None = None) -> Markup:
    tall = max(round(value / highest * _HEIGHT, 1), 1.0)
    return element("rect", x=number, y=f"{_HEIGHT - tall:g}", width="0.9", height=f"{tall:g}", class_=class_)


def _findings_row(found: Sequence[Finding], times: TimeLine) -> Markup:
    first = found[0]
    marks = join(_mark(finding, times) for finding in found)
    label = f"{first.code}: {plural(sum(finding.count for finding in found), 'time', spec=',')}"
    name = element("div", first.code, element("small", first.name), class_="lane-name")
    return join((name, _svg(label, _WIDTH, marks, f"lane {first.severity}", _HEIGHT // 5)))


def _mark(finding: Finding, times: TimeLine) -> Markup:
    start, end = _x(finding.place.time_ns, times), _x(finding.last_time_ns, times)
    wide = max(end - start, _MARK)
    when = f"{plural(finding.count, 'time', spec=',')} from {rfc3339(finding.place.time_ns)}"
    title = element("title", f"{when}: {finding.seen}")
    return element("g", title, element("rect", x=min(start, _WIDTH - wide), y=4, width=wide, height=12, rx=2))


def _x(time_ns: int, times: TimeLine) -> int:
    share = (time_ns - times.start_ns) / (times.span() * times.width_ns)
    return round(min(max(share, 0), 1) * _WIDTH)


def _axis(times: TimeLine) -> Iterator[Markup]:
    step = times.span() * times.width_ns // (_TICKS - 1)
    ticks = (element("span", duration(step * tick) if tick else "0") for tick in range(_TICKS))
    yield element("div", class_="lane-name")
    yield element("div", *ticks, class_="axis")


def _svg(label: str, width: int, content: Markup, class_: str, height: int = _HEIGHT) -> Markup:
    return element(
        "svg", content, viewBox=f"0 0 {width} {height}", preserveAspectRatio="none", role="img",
        aria_label=label, class_=class_,
    )  # fmt: skip
