"""The findings of a run, equal ones folded into one with a count."""

import re

from kdissect.model.finding import Finding
from kdissect.rules.rule import Once, Rule

_INDEX = re.compile(r"\[\d+\]")
# Different findings kept: a peer that breaks something new in every frame must not fill the memory.
MAX_FINDINGS = 10_000


class FindingLog:
    """Collects findings in the order of their first appearance.

    Findings are equal if rule, party without its port, API, version, field (whatever its index) and
    expectation are. `dropped` counts those beyond `MAX_FINDINGS` different ones.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Finding] = {}
        self.dropped = 0

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding."""
        key = _key(rule, finding)
        known = self._found.get(key)
        if known is not None:
            known.count += 1
            known.last_time_ns = finding.place.time_ns
        elif len(self._found) < MAX_FINDINGS:
            self._found[key] = finding
        else:
            self.dropped += 1

    def all(self) -> list[Finding]:
        """The findings, first seen first."""
        return list(self._found.values())


def _key(rule: Rule, finding: Finding) -> tuple[object, ...]:
    if rule.once == Once.VALUE:
        return finding.code, finding.seen
    party, place = finding.party, finding.place
    host = party.address.rpartition(":")[0]
    who = (finding.code, party.role, host, party.software, party.version, party.client_id)
    if rule.once == Once.PARTY:
        return (*who, place.api_key, place.api_version)
    path = _INDEX.sub("[]", place.path)
    return (*who, place.api_key, place.api_version, place.side, path, finding.expected, finding.claim)
