"""Findings and filters: findings about the exchanges a filter takes, and exchanges that have findings."""

from __future__ import annotations

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.findings.taken_exchanges import TakenExchanges
from kdissect.model.finding import Finding
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Rule

# Exchanges with findings that are remembered, some 300 bytes each. A capture with more of them is broken
# throughout.
MAX_EXCHANGES = 500_000
Place = tuple[str, int]


class TakenFindings(FindingLog):
    """Keeps findings about exchanges that were taken, and about connections of which one was."""

    def __init__(self, taken: TakenExchanges) -> None:
        super().__init__()
        self._taken = taken

    def repeats(self, key: Key, time_ns: int) -> bool:
        """Each one is looked at."""
        return False

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding, or not."""
        if self._taken.holds(finding.place.connection, finding.place.exchange):
            super().add(rule, finding)


class _PlacedFindings(FindingLog):
    """Keeps the codes by exchange, nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[Place, set[str]] = {}
        self.is_full = False

    def repeats(self, key: Key, time_ns: int) -> bool:
        """Each one is looked at."""
        return False

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding about an exchange."""
        place = finding.place.connection, finding.place.exchange
        if place not in self.codes and len(self.codes) >= MAX_EXCHANGES:
            self.is_full = True
            return
        self.codes.setdefault(place, set()).add(finding.code)


def codes_by_exchange(dissection: Dissection) -> dict[Place, set[str]]:
    """Codes of the findings by connection and ordinal. Reads the whole input."""
    judge = Judge()
    judge.findings = found = _PlacedFindings()
    dissection.guard.each(dissection.events(), judge.add)
    judge.finish()
    if found.is_full:
        say(f"warning: more than {MAX_EXCHANGES} exchanges have findings: the filter knows the first of them")
    return found.codes
