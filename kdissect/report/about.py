"""What every report says of the run as a whole: how much was judged, by which rules, on which capture."""

from collections.abc import Iterable, Iterator

from kdissect.model.wording import plural
from kdissect.report.verdict import Verdict
from kdissect.rules.rule import Rule
from kdissect.rules.ruleset import ruleset_version
from kdissect.schema.releases import newest_release

_NUMBER = 3  # digits at the end of a code


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


def codes_text(rules: Iterable[Rule]) -> str:
    """Codes of rules, neighbours joined: `ADM001-004, BDY003`."""
    return ", ".join(_runs([rule.code for rule in rules]))


def _runs(codes: list[str]) -> Iterator[str]:
    start = end = ""
    for code in [*sorted(codes), ""]:
        if start and code == _next(end):
            end = code
            continue
        if start:
            yield start if start == end else f"{start}-{end[-_NUMBER:]}"
        start = end = code


def _next(code: str) -> str:
    return f"{code[:-_NUMBER]}{int(code[-_NUMBER:]) + 1:03}"
