"""Findings of one rule about one software, or one broker, as one."""

from collections.abc import Iterable
from typing import NamedTuple

from kdissect.model.finding import Finding
from kdissect.rules.findings import who_of
from kdissect.rules.rule import Once


class Fold(NamedTuple):
    """`first` stands for `others` too, which differ in API, version, field or what was expected."""

    first: Finding
    others: tuple[Finding, ...] = ()

    @property
    def times(self) -> int:
        """How often all of them were found."""
        return self.first.count + sum(finding.count for finding in self.others)


def folded(findings: Iterable[Finding]) -> list[Fold]:
    """Return the findings in the order they come, each where the first of its kind stands."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        who = finding.party.role, *who_of(finding.party, Once.SOFTWARE)
        groups.setdefault((finding.code, finding.severity, finding.known, *who), []).append(finding)
    return [Fold(first, tuple(others)) for first, *others in groups.values()]
