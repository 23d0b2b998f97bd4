"""Traffic of the capture: versions of exchanges, and response times."""

from collections import Counter
from collections.abc import Iterator
from math import log

from kdissect.model.wording import plural
from kdissect.report.html.markup import Markup, element, join, number, scrolled, section, table
from kdissect.report.quantities import duration, grouped, short_count
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.traffic_counts import Kind, kind_order
from kdissect.schema.protocol_messages import api, api_keys, api_name
from kdissect.schema.types import Api
from kdissect.sketches.distribution import Distribution

# Keys that no schema knows may be invented: 95 APIs are known.
MAX_APIS = 150
_STEPS = 4  # of colour
# Rows, beginning with the most exchanges: 368 API versions have ever shipped, and few captures contain 100.
MAX_VERSIONS = 120
_BARS = 32
_BAR_HEIGHT = 24
_SHARES = (0.5, 0.9, 0.99)
RESPONSE_TIMES = (
    "From the last byte of the request to the first of the response, as captured. Percentiles are read from "
    "a histogram, at most 1 % off. Fetch, JoinGroup and their like wait on purpose."
)


# Which API was seen in which version: the coverage matrix.
def matrix_section(verdict: Verdict) -> Markup:
    """Return a row for each API that was seen, a column for each version."""
    seen = verdict.coverage.apis
    keys = sorted(key for key in {key for key, _ in seen} if key is not None)
    if not keys:
        return section("coverage", "Coverage", element("p", "No API was seen.", class_="empty"))
    newest = max((known.versions.last for key in keys if (known := api(key))), default=0)
    broken = Counter((f.place.api_key, f.place.api_version) for f in verdict.findings)
    heads = ("API", *(str(version) for version in range(newest + 1)), _other(seen, newest))
    rows = [_row(key, newest, seen, broken) for key in keys[:MAX_APIS]]
    grid = table(heads, rows, "Exchanges by API and version", "matrix")
    kinds = sum(1 for key, version in seen if key is not None and version is not None)
    note = f"{plural(kinds, 'API version', spec=',')} of {len(keys)} APIs. Numbers are exchanges."
    return section(
        "coverage", "Coverage", _legend(), scrolled("Coverage matrix", grid), _unseen(keys), note=note
    )


def _other(seen: Counter[Kind], newest: int) -> str:
    has_other = any(version is not None and not 0 <= version <= newest for _, version in seen)
    return "other" if has_other else ""


def _row(key: int, newest: int, seen: Counter[Kind], broken: Counter[Kind]) -> Iterator[str]:
    known = api(key)
    name = api_name(key) or "unknown API"
    yield element("th", name, " ", element("small", str(key)), scope="row")
    for version in range(newest + 1):
        yield _cell(key, version, known, seen, broken)
    above = sorted(v for k, v in seen if k == key and v is not None and not 0 <= v <= newest)
    others = ", ".join(f"v{version}: {grouped(seen[key, version])}" for version in above[:3])
    yield element("td", others + (" ..." if len(above) > 3 else ""), class_="other")


def _cell(key: int, version: int, known: Api | None, seen: Counter[Kind], broken: Counter[Kind]) -> Markup:
    number = seen[key, version]
    exists = known is not None and version in known.versions
    if not number:
        return element("td", "\N{MIDDLE DOT}" if exists else "", class_="unseen" if exists else "none")
    marks = [f"heat-{min(len(str(number)), _STEPS)}"]
    title = f"{api_name(key) or key} v{version}: {plural(number, 'exchange', spec=',')}"
    if not exists:
        marks.append("newer")
        title += ", newer than the schema"
    if broken[key, version]:
        marks.append("broken")
        title += f", {plural(broken[key, version], 'finding', spec=',')}"
    return element("td", short_count(number), class_=" ".join(marks), title=title)


def _legend() -> Markup:
    items = [
        *(element("li", element("i", class_=f"heat-{step}"), _range(step)) for step in range(1, _STEPS + 1)),
        element("li", element("i", "\N{MIDDLE DOT}", class_="unseen"), "a version that exists, not seen"),
        element("li", element("i", class_="heat-1 broken"), "with findings"),
    ]
    return element("ul", *items, class_="legend")


def _range(step: int) -> str:
    low = 10 ** (step - 1)
    return f"{low:,}+" if step == _STEPS else f"{low:,} to {low * 10 - 1:,}"


def _unseen(keys: list[int]) -> Markup:
    others = sorted(api_keys() - set(keys))
    if not others:
        return Markup()
    names = join((f"{api_name(key)} ({key})" for key in others), ", ")
    summary = element("summary", f"{plural(len(others), 'API', spec=',')} not seen")
    return element("details", summary, element("p", names), class_="plain")


# How long answers took, for each API and version.
def latency_section(verdict: Verdict) -> Markup:
    """Return percentiles, and a histogram on a scale that all rows share."""
    held = verdict.coverage.traffic.latencies
    if not held:
        return section("latency", "Latency", element("p", "No request was answered.", class_="empty"))
    everything = Distribution()
    for latencies in held.values():
        everything.merge(latencies)
    busiest = sorted(held.items(), key=lambda item: -item[1].count)[:MAX_VERSIONS]
    rows = [_latency_row(element("th", "all", scope="row"), everything, everything)]
    rows += [
        _latency_row(_name(kind), latencies, everything)
        for kind, latencies in sorted(busiest, key=lambda item: kind_order(item[0]))
    ]
    scale = f"histogram, {duration(everything.min)} to {duration(everything.max)}, logarithmic"
    heads = ("API", "#exchanges", "#p50", "#p90", "#p99", "#max", scale)
    grid = scrolled("Latency", table(heads, rows, "Latency by API and version", "latency"))
    left = len(held) - len(busiest)
    not_shown = f"{plural(left, 'more API version', spec=',')} not shown."
    more = element("p", not_shown, class_="note") if left else ""
    return section("latency", "Latency", grid, more, note=RESPONSE_TIMES)


def _name(kind: Kind) -> Markup:
    key, version = kind
    if key is None:
        return element("th", "unknown", scope="row")
    return element("th", api_name(key) or f"API {key}", " ", element("small", f"v{version}"), scope="row")


def _latency_row(name: Markup, held: Distribution, everything: Distribution) -> Iterator[str]:
    yield name
    yield number(grouped(held.count))
    for share in _SHARES:
        yield number(duration(held.quantile(share) or 0))
    yield number(duration(held.max))
    yield element("td", _histogram(held, everything), class_="histogram")


def _histogram(held: Distribution, everything: Distribution) -> Markup:
    bars = [0] * _BARS
    for latency_ns, times in held.quantities():
        bars[_bar_of(latency_ns, everything)] += times
    highest = max(bars)
    shown = join(
        element("rect", x=at, y=str(_BAR_HEIGHT - tall), width="0.86", height=str(tall))
        for at, value in enumerate(bars)
        if value and (tall := max(round(value / highest * _BAR_HEIGHT, 1), 1.5))
    )
    label = f"p50 {duration(held.quantile(0.5) or 0)}, from {duration(held.min)} to {duration(held.max)}"
    return element(
        "svg",
        shown,
        viewBox=f"0 0 {_BARS} {_BAR_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def _bar_of(latency_ns: float, everything: Distribution) -> int:
    """Return the bar on the logarithmic scale from the shortest to the longest latency of all."""
    low, high = max(everything.min, 1), max(everything.max, 2)
    if high <= low:
        return 0
    share = log(max(latency_ns, low) / low) / log(high / low)
    return min(int(share * _BARS), _BARS - 1)
