"""Codes of findings by exchange, for filters that ask for them: all is judged before anything is filtered."""

from __future__ import annotations

from kdissect.api import Dissection
from kdissect.model.finding import Finding
from kdissect.model.native import is_compiled, native
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Rule
from kdissect.session.events import Events
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker, take_block

# Exchanges with findings that are remembered, some 300 bytes each. A capture with more of them is broken
# throughout.
MAX_EXCHANGES = 500_000


class CodesByExchange(FindingLog):
    """Stores only the codes by exchange; `is_full` if there were more than `MAX_EXCHANGES`."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self._codes: dict[tuple[str, int], set[str]] = {}

    def repeats_after(self, key: Key) -> int | None:
        """Each one is looked at."""
        return None

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding about an exchange."""
        place = finding.place.connection, finding.place.exchange
        if place not in self._codes and len(self._codes) >= MAX_EXCHANGES:
            self.is_full = True
            return
        self._codes.setdefault(place, set()).add(finding.code)

    def of(self, exchange: Exchange) -> frozenset[str] | set[str]:
        """Return the codes of the findings about an exchange."""
        return self._codes.get((exchange.connection.id, exchange.ordinal), _NONE)


_NONE: frozenset[str] = frozenset()


def codes_by_exchange(dissection: Dissection) -> CodesByExchange:
    """Judge the whole input."""
    judge = Judge()
    judge.findings = found = CodesByExchange()
    takers = [BlockTaker(judge.take_block, lambda exchange, _: judge.add(exchange))]
    guard = dissection.guard

    def take(events: Events) -> None:
        if is_compiled and isinstance(events, native.ExchangeBlock):
            take_block(events, takers, guard.note)
        else:
            guard.each(events, judge.add)

    guard.each(dissection.batches(), take)
    judge.finish()
    return found
