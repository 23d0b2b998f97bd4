"""The report as JUnit XML: a suite for each software, and in it a testcase for each rule that judges it.

Rules without anything to judge on the connections of that software are skipped. The time of a testcase lasts
from the first to the last of its findings, in the traffic. The judge's own time would not describe the
software.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from kdissect.engine.times import rfc3339
from kdissect.model.finding import Finding, Severity, Who
from kdissect.report.about import hash_texts, inconclusive_text, versions_text
from kdissect.report.folds import folded
from kdissect.report.printable import printable
from kdissect.report.text import fold_text
from kdissect.report.verdict import Verdict
from kdissect.rules.rule import Rule
from kdissect.rules.run_coverage.rule_coverage import Software, software_of

_Found = dict[tuple[Software, str], list[Finding]]


def report_junit(verdict: Verdict) -> str:
    """Return the whole report. Errors are failures. Warnings and information are in `system-out`."""
    found: _Found = {}
    for finding in verdict.findings:
        found.setdefault((software_of(finding.party), finding.code), []).append(finding)
    suites = [_Suite(software, rules, found, verdict) for software, rules in _exercised(verdict, found)]
    counts = _counts(
        tests=sum(len(suite.rules) for suite in suites), failures=sum(suite.failures for suite in suites)
    )
    counts += _time(sum(suite.span_ns for suite in suites))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="kdissect"{counts}>']
    for suite in suites:
        lines += suite.lines()
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _exercised(verdict: Verdict, found: _Found) -> list[tuple[Software, Counter[str]]]:
    """Return every software that was judged, clients first, and what was judged of it."""
    rows: dict[Software, Counter[str]] = {}
    for role in Who:
        if verdict.who in (None, role):
            rows |= verdict.coverage.exercises.by_software(role)
    for software, _ in found:
        rows.setdefault(software, Counter())
    if not rows:  # every rule is skipped, once, because no connection was judged
        rows = {Software(role): Counter() for role in Who if verdict.who in (None, role)}
    return sorted(rows.items(), key=lambda item: (item[0].role is Who.BROKER, suite_name(item[0])))


def suite_name(software: Software) -> str:
    """`client librdkafka 2.16.0 (ours)`."""
    parts = [str(software.role), software.name or "", software.version or ""]
    if software.label:
        parts.append(f"({software.label})")
    return printable(" ".join(part for part in parts if part))


class _Suite:
    """One software."""

    def __init__(self, software: Software, exercised: Counter[str], found: _Found, verdict: Verdict) -> None:
        self.rules = [rule for rule in verdict.rules if rule.who in (None, software.role)]
        self._name = suite_name(software)
        self._verdict = verdict
        self._found = {rule.code: found.get((software, rule.code), []) for rule in self.rules}
        self._skipped = {c for c, findings in self._found.items() if not exercised[c] and not findings}
        self.failures = sum(bool(_errors(findings)) for findings in self._found.values())
        self.span_ns = sum(map(_span_ns, self._found.values()))

    def lines(self) -> Iterator[str]:
        """Yield the suite as XML."""
        counts = _counts(len(self.rules), self.failures, len(self._skipped)) + _time(self.span_ns)
        time_ns = self._verdict.coverage.traffic.times.start_ns
        stamp = f" timestamp={quoteattr(rfc3339(time_ns)[:19])}" if self._verdict.exchanges else ""
        yield f"<testsuite name={quoteattr(self._name)}{counts}{stamp}>"
        yield "<properties>"
        for name, value in _properties(self._verdict):
            yield f"<property name={quoteattr(name)} value={quoteattr(printable(value))}/>"
        yield "</properties>"
        for rule in self.rules:
            yield from self._case(rule)
        yield "</testsuite>"

    def _case(self, rule: Rule) -> Iterator[str]:
        found = self._found[rule.code]
        name = f"{rule.code} {rule.name}"
        group = "kdissect." + self._name.replace(".", "_")  # Jenkins takes what precedes a dot for a package
        yield f"<testcase classname={quoteattr(group)} name={quoteattr(name)}{_time(_span_ns(found))}>"
        if rule.code in self._skipped:
            yield f"<skipped message={quoteattr(self._why(rule))}/>"
        errors = _errors(found)
        if errors:
            message = quoteattr(printable(errors[0].seen))
            yield f'<failure type="{rule.claim}" message={message}>{self._text(errors)}</failure>'
        others = [finding for finding in found if finding not in errors]
        if others:
            yield f"<system-out>{self._text(others)}</system-out>"
        yield "</testcase>"

    def _why(self, rule: Rule) -> str:
        verdict = self._verdict
        if rule in verdict.not_exercised:
            return f"not exercised: {verdict.why_not_exercised(rule)}"
        return "not exercised by this software"

    def _text(self, findings: Sequence[Finding]) -> str:
        return escape("\n".join(fold_text(fold, self._verdict.files) for fold in folded(findings)))


def _errors(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR and not finding.known]


def _span_ns(findings: Sequence[Finding]) -> int:
    """From the first to the last time that something was found."""
    if not findings:
        return 0
    return max(one.last_time_ns for one in findings) - min(one.place.time_ns for one in findings)


def _time(span_ns: int) -> str:
    return f' time="{span_ns / 1e9:.3f}"'


def _counts(tests: int, failures: int, skipped: int | None = None) -> str:
    left_out = "" if skipped is None else f' skipped="{skipped}"'
    return f' tests="{tests}" failures="{failures}" errors="0"{left_out}'


def _properties(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "versions", versions_text(verdict)
    yield "capture quality", "; ".join([verdict.quality.verdict, *verdict.quality.reasons])
    if verdict.inconclusive:
        yield "inconclusive", inconclusive_text(verdict)
    for path, digest in hash_texts(verdict):
        yield f"sha256 {printable(path)}", digest
