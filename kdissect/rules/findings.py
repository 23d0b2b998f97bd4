"""The findings of a run, equal ones folded into one with a count."""

from __future__ import annotations

import re

from kdissect.model.finding import Finding
from kdissect.rules.rule import Once, Rule

_INDEX = re.compile(r"\[\d+\]")
# Different findings kept: a peer that breaks something new in every frame must not fill the memory.
MAX_FINDINGS = 10_000


class FindingLog:
    """Collects findings. What comes of it does not depend on the order they come in.

    Findings are equal if rule, party without its port, API, version, field (whatever its index) and
    expectation are; the earliest on the wire stands for all of them. `dropped` counts those beyond
    `MAX_FINDINGS` different ones, the one case in which the order matters.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Finding] = {}
        self.dropped = 0

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding."""
        self._fold(key_of(rule.once, finding), finding)

    def merge(self, other: FindingLog) -> None:
        """Take what another log holds, whose findings change with it."""
        for key, finding in other._found.items():
            self._fold(key, finding)
        self.dropped += other.dropped

    def put_back(self, finding: Finding) -> None:
        """Take a finding of a log that was written down: it is equal to none of the others."""
        self._found[len(self._found), *_when(finding)] = finding

    def all(self) -> list[Finding]:
        """The findings, the earliest on the wire first."""
        return sorted(self._found.values(), key=_when)

    def _fold(self, key: tuple[object, ...], finding: Finding) -> None:
        known = self._found.get(key)
        if known is None:
            if len(self._found) < MAX_FINDINGS:
                self._found[key] = finding
            else:
                self.dropped += finding.count
            return
        count, last_ns = known.count + finding.count, max(known.last_time_ns, finding.last_time_ns)
        if finding.place.time_ns <= known.place.time_ns and _when(finding) < _when(known):
            self._found[key] = known = finding
        known.count, known.last_time_ns = count, last_ns


def _when(finding: Finding) -> tuple[object, ...]:
    """Where a finding stands on the wire; what stands at one place is told apart by what was found."""
    place = finding.place
    where = place.time_ns, place.connection, place.exchange, place.first_ref
    return (*where, place.start, place.end, finding.code, place.path, finding.expected, finding.seen)


def key_of(once: str, finding: Finding) -> tuple[object, ...]:
    """What findings have in common that are equal; `once` says how often their rule speaks (`Once`)."""
    if once == Once.VALUE:
        return finding.code, finding.seen
    party, place = finding.party, finding.place
    host = party.address.rpartition(":")[0]
    who = (finding.code, party.role, host, party.software, party.version, party.client_id)
    if once == Once.PARTY:
        return (*who, place.api_key, place.api_version)
    path = _INDEX.sub("[]", place.path)
    return (*who, place.api_key, place.api_version, place.side, path, finding.expected, finding.claim)
