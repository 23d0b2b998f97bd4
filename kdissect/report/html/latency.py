"""How long answers took, for each API and version."""

from collections.abc import Iterator
from math import log

from kdissect.report.html.markup import Markup, element, join, number, scrolled, section, table
from kdissect.report.html.numbers import count, duration, plural
from kdissect.report.verdict import Verdict
from kdissect.rules.traffic import Kind
from kdissect.schema.protocol_messages import api_name
from kdissect.sketches.distribution import Distribution

# Rows shown, those with the most exchanges first: 368 API versions ever shipped, few captures hold 100.
MAX_ROWS = 120
_BARS = 32
_HEIGHT = 24
_SHARES = (0.5, 0.9, 0.99)
_NOTE = (
    "From the last byte of the request to the first of the response, as captured. Percentiles are read from "
    "a histogram, at most 1 % off. Fetch, JoinGroup and their like wait on purpose."
)


def latency_section(verdict: Verdict) -> Markup:
    """Percentiles, and a histogram on a scale that all rows share."""
    held = verdict.coverage.traffic.latencies
    if not held:
        return section("latency", "Latency", element("p", "No request was answered.", class_="empty"))
    everything = Distribution()
    for latencies in held.values():
        everything.merge(latencies)
    busiest = sorted(held.items(), key=lambda item: -item[1].count)[:MAX_ROWS]
    rows = [_row(element("th", "all", scope="row"), everything, everything)]
    rows += [_row(_name(kind), latencies, everything) for kind, latencies in sorted(busiest, key=_by_kind)]
    scale = f"histogram, {duration(everything.min)} to {duration(everything.max)}, logarithmic"
    heads = ("API", "#exchanges", "#p50", "#p90", "#p99", "#max", scale)
    grid = scrolled("Latency", table(heads, rows, "Latency by API and version", "latency"))
    left = len(held) - len(busiest)
    more = element("p", f"{plural(left, 'more API version')} not shown.", class_="note") if left else ""
    return section("latency", "Latency", grid, more, note=_NOTE)


def _by_kind(item: tuple[Kind, Distribution]) -> list[int]:
    return [-1 if part is None else part for part in item[0]]


def _name(kind: Kind) -> Markup:
    key, version = kind
    if key is None:
        return element("th", "unknown", scope="row")
    return element("th", api_name(key) or f"API {key}", " ", element("small", f"v{version}"), scope="row")


def _row(name: Markup, held: Distribution, everything: Distribution) -> Iterator[str]:
    yield name
    yield number(count(held.count))
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
        element("rect", x=at, y=str(_HEIGHT - tall), width="0.86", height=str(tall))
        for at, value in enumerate(bars)
        if value and (tall := max(round(value / highest * _HEIGHT, 1), 1.5))
    )
    label = f"p50 {duration(held.quantile(0.5) or 0)}, from {duration(held.min)} to {duration(held.max)}"
    return element(
        "svg",
        shown,
        viewBox=f"0 0 {_BARS} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def _bar_of(latency_ns: float, everything: Distribution) -> int:
    """The bar on the logarithmic scale from the shortest to the longest latency of all."""
    low, high = max(everything.min, 1), max(everything.max, 2)
    if high <= low:
        return 0
    share = log(max(latency_ns, low) / low) / log(high / low)
    return min(int(share * _BARS), _BARS - 1)
