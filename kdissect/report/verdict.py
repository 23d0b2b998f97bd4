"""Result of a judge's run, in the form that every report reads."""

import os
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

from kdissect.capture.byte_source import FileSource
from kdissect.config.suppression import Suppression
from kdissect.model.finding import Finding, Level, Severity, Who
from kdissect.model.wording import path_of
from kdissect.report.baseline import Baseline, Known
from kdissect.report.folds import Fold, folded
from kdissect.rules.findings import FindingLog
from kdissect.rules.rule import Rule
from kdissect.rules.run_coverage.capture_quality import CaptureQuality
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.run_coverage.not_exercised import why_not_exercised
from kdissect.rules.suppressions import Suppressed, Suppressions

_ORDER = {severity: place for place, severity in enumerate((Severity.ERROR, Severity.WARNING, Severity.INFO))}


class JudgeResult(Protocol):
    """Result of judging: a finished `Judge`, or a combination of several."""

    findings: FindingLog
    inconclusive: Counter[tuple[str, str]]
    coverage: Coverage
    rules: Sequence[Rule]
    who: Who | None


class Verdict:
    """Findings, loudest first, and what surrounds them. `files` are the inputs' names by file index, `hashes`
    the SHA-256 of files that were hashed while reading.

    `strict`: a broken should is an error. `suppressed` are findings that a project has accepted. Other lists
    and counts do not contain them.
    """

    def __init__(
        self,
        judge: JudgeResult,
        quality: CaptureQuality,
        files: Sequence[str],
        suppressions: Sequence[Suppression] = (),
        baseline: Baseline | None = None,
        strict: bool = False,
        hashes: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.findings: list[Finding]
        self.suppressed: list[Suppressed]
        found = judge.findings.all()
        for finding in found:
            if strict and finding.level is Level.SHOULD:
                finding.severity = Severity.ERROR
        loudest_first = sorted(found, key=lambda f: (_ORDER[f.severity], f.code))
        applied = Suppressions(suppressions, judge.rules)
        self.findings, self.suppressed = applied.split(loudest_first)
        self.unused_suppressions = applied.unused
        self.dropped = judge.findings.dropped
        self.inconclusive: Counter[tuple[str, str]] = judge.inconclusive
        self.coverage: Coverage = judge.coverage
        self.rules: Sequence[Rule] = judge.rules
        self.who = judge.who
        self.quality = quality
        self.files = files
        self._hashes = hashes
        self.baseline = baseline
        self.fixed: list[Known] = []
        """Findings of the baseline that no longer occur."""
        self.not_judged: list[Known] = []
        """Findings of the baseline whose rule or API version did not come up: they may be there still."""
        if baseline is not None:
            self._compare(baseline)

    def _compare(self, baseline: Baseline) -> None:
        baseline.mark(self.findings)
        exercised = {rule.code for rule in self.rules if self.coverage.rules[rule.code]}
        for known in baseline.missing([*self.findings, *(finding for finding, _ in self.suppressed)]):
            came_up = known.code in exercised and known.api in {(None, None), *self.coverage.apis}
            (self.fixed if came_up else self.not_judged).append(known)

    @cached_property
    def captures(self) -> list[tuple[str, str | None]]:
        """Name and SHA-256 of each input; None for standard input. Reads files that were not hashed yet."""
        return [(path, self._hashes.get(path) or _sha256_of(path)) for path in self.files]

    @property
    def folds(self) -> list[Fold]:
        """The findings, folded by rule and party."""
        return folded(self.findings)

    @property
    def exchanges(self) -> int:
        """Exchanges that were judged."""
        return self.coverage.exchanges

    @cached_property
    def not_exercised(self) -> list[Rule]:
        """Rules without anything to judge."""
        exercised = self.coverage.rules
        return [rule for rule in self.rules if not exercised[rule.code]]

    def why_not_exercised(self, rule: Rule) -> str:
        """Return the reason for one of these rules."""
        return why_not_exercised(rule, self.coverage)

    def by_severity(self) -> dict[str, int]:
        """Return how many different findings there are of each severity, loudest first."""
        counts = Counter(finding.severity for finding in self.findings)
        return {str(severity): counts[severity] for severity in _ORDER if counts[severity]}


def _sha256_of(path: str) -> str | None:
    """SHA-256 of a file in hex, by its name as text (`model.path_text`).

    None for standard input and what cannot be read any more.
    """
    source = FileSource(os.fsdecode(path_of(path)))
    source.is_hashed = True
    try:
        deque(source.chunks(), maxlen=0)
    except (OSError, ValueError):
        return None
    return source.sha256
