"""Findings by exchange, for filters that ask for them: the inputs are judged before anything is filtered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from kdissect.engine.exchange_log.log import MAX_FOUND
from kdissect.model.finding import Finding
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Rule
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

Place = tuple[str, int]


class _Places(FindingLog):
    """Keeps the codes by exchange, of at most `MAX_FOUND` exchanges."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[Place, set[str]] = {}

    def repeats(self, key: Key, time_ns: int) -> bool:
        """Each one is looked at."""
        return False

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding."""
        place = finding.place.connection, finding.place.exchange
        if place in self.codes or len(self.codes) < MAX_FOUND:
            self.codes.setdefault(place, set()).add(finding.code)


def codes_by_exchange(events: Iterable[Event]) -> Callable[[Exchange], Collection[str]]:
    """Judges all events; gives the codes of the findings about an exchange."""
    judge = Judge()
    judge.findings = found = _Places()
    for event in events:
        judge.add(event)
    judge.finish()
    return lambda exchange: found.codes.get((exchange.connection.id, exchange.ordinal), ())
