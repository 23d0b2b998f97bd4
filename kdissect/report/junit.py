"""The report as JUnit XML: a testcase for each rule; skipped are those that had nothing to judge."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from kdissect.model.finding import Finding, Severity
from kdissect.report.printable import printable
from kdissect.report.text import finding_text
from kdissect.report.verdict import Verdict
from kdissect.rules.rule import Rule


def report_junit(verdict: Verdict) -> str:
    """The whole report. Errors are failures; warnings and information stand in `system-out`."""
    by_code: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        by_code.setdefault(finding.code, []).append(finding)
    idle = {rule.code for rule in verdict.not_exercised}
    failed = {code for code, found in by_code.items() if any(map(_fails, found))}
    skipped = idle - set(by_code)
    counts = f'tests="{len(verdict.rules)}" failures="{len(failed)}" skipped="{len(skipped)}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<testsuites>",
        f'<testsuite name="kdissect" {counts}>',
    ]
    for rule in verdict.rules:
        lines += _case(rule, by_code.get(rule.code, []), rule.code in skipped, verdict)
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _case(rule: Rule, found: list[Finding], is_skipped: bool, verdict: Verdict) -> Iterator[str]:
    yield f'<testcase classname="kdissect.{rule.code[:3]}" name={quoteattr(f"{rule.code} {rule.name}")}>'
    if is_skipped:
        yield '<skipped message="not exercised"/>'
    failures = [finding for finding in found if _fails(finding)]
    if failures:
        text = "\n".join(finding_text(finding, verdict.files) for finding in failures)
        message = quoteattr(printable(failures[0].seen))
        yield f'<failure type="{rule.claim}" message={message}>{escape(text)}</failure>'
    others = [finding for finding in found if not _fails(finding)]
    if others:
        text = "\n".join(finding_text(finding, verdict.files) for finding in others)
        yield f"<system-out>{escape(text)}</system-out>"
    yield "</testcase>"


def _fails(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR and not finding.known
