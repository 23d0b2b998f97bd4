"""What a run of the judge came to, in the form that every report reads."""

from collections import Counter
from collections.abc import Sequence

from kdissect.config.suppression import Suppression
from kdissect.model.finding import Finding, Severity
from kdissect.rules.coverage import Coverage
from kdissect.rules.judge import Judge
from kdissect.rules.quality import CaptureQuality
from kdissect.rules.rule import Rule
from kdissect.rules.suppressions import Suppressed, Suppressions

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Verdict:
    """Findings, loudest first, and what surrounds them. `files` are the inputs' names by file index.

    `suppressed` are findings that a project has decided to live with; they are in no other list or count.
    """

    def __init__(
        self,
        judge: Judge,
        quality: CaptureQuality,
        files: Sequence[str],
        suppressions: Sequence[Suppression] = (),
    ) -> None:
        self.findings: list[Finding]
        self.suppressed: list[Suppressed]
        loudest_first = sorted(judge.findings.all(), key=lambda f: (_ORDER[f.severity], f.code))
        applied = Suppressions(suppressions, judge.rules)
        self.findings, self.suppressed = applied.split(loudest_first)
        self.unused_suppressions = applied.unused
        self.dropped = judge.findings.dropped
        self.inconclusive: Counter[tuple[str, str]] = judge.inconclusive
        self.coverage: Coverage = judge.coverage
        self.rules: Sequence[Rule] = judge.rules
        self.quality = quality
        self.files = files

    @property
    def exchanges(self) -> int:
        """Exchanges that were judged."""
        return self.coverage.exchanges

    @property
    def not_exercised(self) -> list[Rule]:
        """Rules that had nothing to look at."""
        return [rule for rule in self.rules if not self.coverage.rules[rule.code]]

    def by_severity(self) -> dict[str, int]:
        """How many different findings there are of each severity, loudest first."""
        counts = Counter(finding.severity for finding in self.findings)
        return {str(severity): counts[severity] for severity in _ORDER if counts[severity]}
