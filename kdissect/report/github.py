"""The report as workflow commands of GitHub Actions: one annotation for each finding."""

from kdissect.model.finding import Finding, Severity
from kdissect.report.printable import printable
from kdissect.report.text import finding_text
from kdissect.report.verdict import Verdict

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def report_github(verdict: Verdict) -> str:
    """One line for each finding."""
    return "".join(
        f"::{_command(finding)} title={_property(f'{finding.code} {finding.name}')}::"
        f"{_data(finding_text(finding, verdict.files))}\n"
        for finding in verdict.findings
    )


def _command(finding: Finding) -> str:
    """A finding that is in the baseline is told, and marks no line as wrong."""
    return _COMMANDS[Severity.INFO if finding.known else finding.severity]


def _data(text: str) -> str:
    """Text that cannot end the command: each line is printable, line ends are escaped."""
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
