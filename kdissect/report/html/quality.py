"""What the capture lacks, and what could therefore not be said."""

from kdissect.report.html.markup import Markup, definitions, element, number, scrolled, section, table
from kdissect.report.html.numbers import count
from kdissect.report.verdict import Verdict
from kdissect.rules.capture_quality import GOOD
from kdissect.rules.registry import rule_by

# Reasons are few and rules are 145; the product never is.
MAX_ROWS = 300


def quality_section(verdict: Verdict) -> Markup:
    """The verdict on the capture, its numbers, and the checks that came to nothing."""
    quality = verdict.quality
    kind = "good" if quality.verdict == GOOD else "warning"
    parts = [element("p", element("span", quality.verdict, class_=f"tag {kind}"), " ", _meaning(verdict))]
    if quality.reasons:
        parts.append(element("ul", *(element("li", reason) for reason in quality.reasons)))
    parts.append(definitions(_numbers(verdict), "numbers"))
    return section("quality", "Capture quality", *parts, _inconclusive(verdict))


def _meaning(verdict: Verdict) -> str:
    if verdict.quality.verdict == GOOD:
        return "Every byte of the judged connections is there."
    if not verdict.exchanges:
        return "The capture holds no Kafka exchange."
    return "Rules that what is missing could explain stay silent."


def _numbers(verdict: Verdict) -> list[tuple[str, str]]:
    quality = verdict.quality
    kinds = [
        (kind.replace("_", " ") + " connections", n)
        for kind, n in sorted(verdict.coverage.connections.items())
    ]
    rows = [
        *kinds,
        ("holes in TCP streams", quality.gaps),
        ("bytes in holes", quality.gap_bytes),
        ("began before the capture", quality.middle_starts),
        ("frames captured in part", quality.cut_frames),
        ("captured in one direction", quality.one_sided),
        ("packets dropped", quality.dropped_packets),
    ]
    return [(name, count(value)) for name, value in rows]


def _inconclusive(verdict: Verdict) -> Markup:
    if not verdict.inconclusive:
        return Markup()
    rows = []
    for (code, why), times in sorted(verdict.inconclusive.items())[:MAX_ROWS]:
        rule = rule_by(code)
        rows.append((f"{code} {rule.name if rule else ''}", why, number(count(times))))
    title = element("h3", "Inconclusive checks")
    grid = table(("rule", "why", "#checks"), rows, "Checks that came to no conclusion", "plain-table")
    return element("div", title, scrolled("Inconclusive checks", grid))
