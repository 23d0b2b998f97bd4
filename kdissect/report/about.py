"""Facts about the run that every report contains: how much was judged, by which rules, on which capture."""

from collections.abc import Iterator

from kdissect.model.wording import plural
from kdissect.report.verdict import Verdict
from kdissect.rules.registry import ruleset_version
from kdissect.schema.releases import newest_release


def found_text(verdict: Verdict) -> str:
    """`1 error, 2 warning in 96 exchanges; capture quality: good`."""
    counts = ", ".join(f"{count} {name}" for name, count in verdict.by_severity().items()) or "no findings"
    return f"{counts} in {plural(verdict.exchanges, 'exchange')}; capture quality: {verdict.quality.verdict}"


def exercised_text(verdict: Verdict) -> str:
    """`86 of 145 rules had something to judge`."""
    used = len(verdict.rules) - len(verdict.not_exercised)
    return f"{used} of {plural(len(verdict.rules), 'rule')} had something to judge"


def inconclusive_text(verdict: Verdict) -> str:
    """`7 checks of 2 rules`; empty for none."""
    if not verdict.inconclusive:
        return ""
    rules = {code for code, _ in verdict.inconclusive}
    return f"{plural(sum(verdict.inconclusive.values()), 'check')} of {plural(len(rules), 'rule')}"


def versions_text(verdict: Verdict) -> str:
    """`ruleset 0.1.0+73c038a5, schema of Kafka 4.4`."""
    return f"ruleset {ruleset_version(verdict.rules)}, schema of Kafka {newest_release()}"


def hash_texts(verdict: Verdict) -> list[tuple[str, str]]:
    """Name and SHA-256 of each capture."""
    return [(path, digest or "no hash: not a file") for path, digest in verdict.captures]


def not_exercised_lines(verdict: Verdict) -> Iterator[str]:
    """Yield a line for each reason: `no DeleteRecords: ADM011 odd-delete-offset`."""
    why: dict[str, list[str]] = {}
    for rule in sorted(verdict.not_exercised, key=lambda rule: rule.code):
        why.setdefault(verdict.why_not_exercised(rule), []).append(f"{rule.code} {rule.name}")
    for reason, rules in sorted(why.items()):
        yield f"{reason}: {', '.join(rules)}"
