"""What a run of the judge came to, in the form that every report reads."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from kdissect.model.finding import Finding, Severity
from kdissect.report.hashes import sha256_of
from kdissect.rules.coverage import Coverage
from kdissect.rules.judge import Judge
from kdissect.rules.quality import CaptureQuality
from kdissect.rules.rule import Rule

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Verdict:
    """Findings, loudest first, and what surrounds them. `files` are the inputs' names by file index."""

    def __init__(self, judge: Judge, quality: CaptureQuality, files: Sequence[str]) -> None:
        self.findings: list[Finding] = sorted(
            judge.findings.all(), key=lambda f: (_ORDER[f.severity], f.code)
        )
        self.dropped = judge.findings.dropped
        self.inconclusive: Counter[tuple[str, str]] = judge.inconclusive
        self.coverage: Coverage = judge.coverage
        self.rules: Sequence[Rule] = judge.rules
        self.who = judge.who
        self.quality = quality
        self.files = files

    @cached_property
    def captures(self) -> list[tuple[str, str | None]]:
        """Name and SHA-256 of each input; None for standard input. Reads the files once."""
        return [(path, sha256_of(path)) for path in self.files]

    @property
    def exchanges(self) -> int:
        """Exchanges that were judged."""
        return self.coverage.exchanges

    @property
    def not_exercised(self) -> list[Rule]:
        """Rules that had nothing to look at."""
        exercised = self.coverage.rules
        return [rule for rule in self.rules if not exercised[rule.code]]

    def by_severity(self) -> dict[str, int]:
        """How many different findings there are of each severity, loudest first."""
        counts = Counter(finding.severity for finding in self.findings)
        return {str(severity): counts[severity] for severity in _ORDER if counts[severity]}
