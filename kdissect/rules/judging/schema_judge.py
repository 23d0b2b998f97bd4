"""Judges keys and values by the user's schemas: collects them, and reports when the input is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kdissect.engine.records.value_faults import ValueFaults
from kdissect.model.finding import Finding, Location, Who
from kdissect.rules.finding_evidence import Labels, party_of
from kdissect.rules.findings import FindingLog
from kdissect.rules.kinds import SchemaRule, ValueViolation
from kdissect.rules.rule import REQUEST, RESPONSE, Rule
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange

ValuesOf = Callable[[str], ValueFaults]
"""Returns what reads the keys and values of a capture set, which may be the same for several."""


class SchemaJudge:
    """Applies the rules about schemas among `rules`. `values_of` is called once for each capture set."""

    def __init__(self, rules: Sequence[Rule], values_of: ValuesOf) -> None:
        self._rules = [rule for rule in rules if isinstance(rule, SchemaRule)]
        self._values_of = values_of
        self._by_set: dict[str, ValueFaults] = {}

    def add(self, exchange: Exchange, coverage: Coverage) -> None:
        """Read the records of an exchange, and count what the rules look at."""
        capture_set = exchange.connection.capture_set
        values = self._by_set.get(capture_set)
        if values is None:
            values = self._by_set[capture_set] = self._values_of(capture_set)
        before = values.count
        values.add(exchange)
        read = values.count - before
        if read:
            coverage.at(exchange.connection)
            for rule in self._rules:
                coverage.exercise(rule.code, read)

    def finish(self, findings: FindingLog, who: Who | None, labels: Labels) -> None:
        """Add the findings about one end, or about both."""
        for values in dict.fromkeys(self._by_set.values()):
            for rule in self._rules:
                for found in rule.check(values):
                    finding = _finding(rule, found, labels)
                    if who in (None, finding.party.role):
                        findings.add(rule, finding)


def _finding(rule: SchemaRule, found: ValueViolation, labels: Labels) -> Finding:
    """Return the finding about the client that wrote, or about the broker if no write was captured."""
    at = found.place
    side, who = (RESPONSE, Who.BROKER) if at.is_response else (REQUEST, Who.CLIENT)
    place = Location(
        at.info.id, at.ordinal, api_name(at.api_key), at.api_key, at.api_version, side,
        at.first_ref, at.last_ref, at.time_ns, at.start, at.end, path=at.path,
    )  # fmt: skip
    party = party_of(at.info, who, labels)
    finding = Finding(
        rule.code, rule.name, rule.level, rule.claim, rule.effective_severity(), party, place,
        found.expected, found.seen, found.consequence,
    )  # fmt: skip
    finding.count = found.times
    finding.capture_set = at.info.capture_set
    return finding
