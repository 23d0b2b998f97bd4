"""The findings of a run, equal ones folded into one with a count."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kdissect.model.finding import Finding, Party, Severity, Who
from kdissect.model.limits import in_force
from kdissect.model.packets.packet import NEVER_NS
from kdissect.model.wording import plural
from kdissect.rules.rule import Once, Rise, Rule

Key = tuple[object, ...]
_INDEX = re.compile(r"\[\d+\]")


class FindingLog:
    """Collects findings. The result does not depend on the order of the findings.

    Findings are equal if rule, party (`who_of`), API, version, field (whatever its index) and expectation are
    equal. The earliest on the wire represents them. `dropped` counts findings beyond `Limits.findings`
    different ones, the one case in which the order matters.
    """

    def __init__(self) -> None:
        self._found: dict[Key, Finding] = {}
        self._rises: dict[str, Rise] = {}
        self.dropped = 0
        self._most = in_force().findings

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding."""
        if rule.rises is not None:
            self._rises[rule.code] = rule.rises
        self._fold(key_of(rule.once, finding), finding)

    def repeats(self, key: Key, time_ns: int) -> bool:
        """Count a finding that only increases a count, by its `key` and its place in time, before it is
        built.

        False if it must be built: it may be the one that represents the equal findings.
        """
        if not self.would_repeat(key, time_ns):
            return False
        self.count(key, 1, time_ns)
        return True

    def count(self, key: Key, times: int, last_ns: int) -> None:
        """Count findings that only increase a count (`would_repeat`), the last of them at a time."""
        known = self._found.get(key)
        if known is None:
            self.dropped += times
        else:
            known.count += times
            known.last_time_ns = max(known.last_time_ns, last_ns)

    def would_repeat(self, key: Key, time_ns: int) -> bool:
        """Return whether a finding only increases a count, now and later: the first one never becomes
        later.
        """
        after_ns = self.repeats_after(key)
        return after_ns is not None and time_ns > after_ns

    def repeats_after(self, key: Key) -> int | None:
        """Return the time after which findings only increase a count; None if no time is known.

        A class that overrides `add` to see each finding returns None.
        """
        known = self._found.get(key)
        if known is None:
            return NEVER_NS if len(self._found) >= self._most else None
        return known.place.time_ns

    def add_consequence(self, keys: Iterable[Key], place: tuple[str, int], consequence: str) -> None:
        """Set the consequence of an exchange in its findings, but not in findings that other exchanges
        represent.
        """
        for key in keys:
            known = self._found.get(key)
            if known is not None and (known.place.connection, known.place.exchange) == place:
                known.consequence = consequence

    def merge(self, other: FindingLog) -> None:
        """Take what another log holds, whose findings change with it."""
        for key, finding in other._found.items():
            self._fold(key, finding)
        self._rises |= other._rises
        self.dropped += other.dropped

    def put_back(self, finding: Finding) -> None:
        """Take a finding of a stored log: it is not equal to any other finding."""
        self._found[len(self._found), *_when(finding)] = finding

    def all(self) -> list[Finding]:
        """Return the findings, the earliest on the wire first."""
        for finding in self._found.values():
            rises = self._rises.get(finding.code)
            if rises is not None:
                _rise(finding, rises)
        return sorted(self._found.values(), key=_when)

    def _fold(self, key: Key, finding: Finding) -> None:
        known = self._found.get(key)
        if known is None:
            if len(self._found) < self._most:
                self._found[key] = finding
            else:
                self.dropped += finding.count
            return
        count, last_ns = known.count + finding.count, max(known.last_time_ns, finding.last_time_ns)
        if finding.place.time_ns <= known.place.time_ns and _when(finding) < _when(known):
            self._found[key] = known = finding
        known.count, known.last_time_ns = count, last_ns


def _rise(finding: Finding, rises: Rise) -> None:
    """Set the severity by how often something was found so far, and say so."""
    span_ns = finding.last_time_ns - finding.place.time_ns
    is_warning = rises.holds(finding.count, span_ns)
    often = f"{plural(finding.count, 'time')} in {span_ns / 1e9:.3f} s"
    finding.severity = Severity.WARNING if is_warning else Severity.INFO
    finding.consequence = f"{often}; {rises}, are a warning" if is_warning else ""


def _when(finding: Finding) -> tuple[object, ...]:
    """Return a finding's place on the wire, with its content to distinguish findings at one place."""
    place = finding.place
    where = place.time_ns, place.connection, place.exchange, place.first_ref
    return (*where, place.start, place.end, finding.code, place.path, finding.expected, finding.seen)


def key_of(once: str, finding: Finding) -> Key:
    """Return the common key of equal findings; `once` is how often their rule reports (`Once`)."""
    place = finding.place
    where = place.api_key, place.api_version, place.side, place.path
    return key_from(once, finding.code, finding.claim, finding.party, where, finding.expected, finding.seen)


def key_from(
    once: str,
    code: str,
    claim: str,
    party: Party,
    where: tuple[int | None, int | None, str, str],
    expected: str,
    seen: str,
) -> Key:
    """Return `key_of` before the finding is built; `where`: API, version, side, path."""
    if once == Once.VALUE:
        return code, seen
    who = (code, party.role, *who_of(party, once))
    api_key, api_version, side, path = where
    if once == Once.SOFTWARE:
        return who
    if once == Once.PARTY:
        return (*who, api_key, api_version)
    if "[" in path:
        path = _INDEX.sub("[]", path)
    return (*who, api_key, api_version, side, path, expected, claim)


def who_of(party: Party, once: str = Once.EACH) -> Key:
    """Return the identity of an end: software and version of a client that names them, and the label.

    Another client is identified by host and client id, for `Once.SOFTWARE` by its host, and a broker by its
    address.
    """
    if party.role is Who.BROKER:
        return party.address, party.label
    if party.software is not None:
        return party.software, party.version, party.label
    host = party.address.rpartition(":")[0]
    return host, None, party.label, None if once == Once.SOFTWARE else party.client_id
