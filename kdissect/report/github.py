"""The report as workflow commands of GitHub Actions: one annotation for each fold of findings."""

from collections.abc import Sequence

from kdissect.model.finding import Finding, Severity
from kdissect.report.about import (
    exercised_text,
    found_text,
    hash_texts,
    inconclusive_text,
    not_exercised_lines,
    versions_text,
)
from kdissect.report.folds import Fold
from kdissect.report.printable import printable
from kdissect.report.text import file_of, fold_text
from kdissect.report.verdict import Verdict

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def report_github(verdict: Verdict) -> str:
    """Return one line for each fold, and one for the run as a whole."""
    lines = "".join(_annotation(fold, verdict.files) for fold in verdict.folds)
    return f"{lines}::notice title=kdissect::{_data(_summary(verdict))}\n"


def _summary(verdict: Verdict) -> str:
    lines = [found_text(verdict), *verdict.quality.reasons, exercised_text(verdict)]
    if verdict.inconclusive:
        lines.append(f"inconclusive: {inconclusive_text(verdict)}")
    if verdict.not_exercised:
        lines += ["not exercised:", *(f"  {line}" for line in not_exercised_lines(verdict))]
    hashes = [f"sha256 {digest}  {path}" for path, digest in hash_texts(verdict)]
    return "\n".join([*lines, versions_text(verdict), *hashes])


def _annotation(fold: Fold, files: Sequence[str]) -> str:
    """Return one line. GitHub shows it under the capture. Standard input has no name to show it under."""
    finding = fold.first
    path = file_of(finding.place, files)
    where = "" if path == "-" else f"file={_property(path)},"
    title = _property(f"{finding.code} {finding.name}")
    return f"::{_command(finding)} {where}title={title}::{_data(fold_text(fold, files))}\n"


def _command(finding: Finding) -> str:
    """Return a finding that is in the baseline is a notice, and marks no line as wrong."""
    return _COMMANDS[Severity.INFO if finding.known else finding.severity]


def _data(text: str) -> str:
    """Return text that cannot end the command: each line is printable, line ends are escaped."""
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
