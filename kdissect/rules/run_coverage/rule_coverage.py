"""Which rules had something to judge, for each pair of a client's software and a broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from kdissect.model.finding import Party, Who
from kdissect.rules.finding_evidence import Labels, label_of
from kdissect.rules.judging.body_kind import BodyKind, BodyPair, Earliest, KindKey, PairKey
from kdissect.rules.kinds import ExchangeRule, UndecodableRule
from kdissect.session.info import ConnectionInfo

# Names of software come from the wire: a client that makes them up must not fill the memory. Further ones
# count as a client that does not say what it is.
MAX_PAIRS = 256


class Software(NamedTuple):
    """Name of an end in a report: its role, its own name, and the user's name for it."""

    role: Who
    name: str | None = None
    version: str | None = None
    label: str | None = None


def software_of(party: Party) -> Software:
    """Return the software of the end that a finding is about."""
    return Software(party.role, party.software, party.version, party.label)


class Exercise:
    """Counts on the connections of one pair: `rules` counts subjects by rule code.

    Rules that check every exchange, or every body of a kind, are counted by `settle`, at the end. Until then
    `rules` has the numbers to subtract for them. `kinds` are the bodies that fit, `together` has common
    counts of rules with the same subjects. `firsts` are, after `settle`, the first pieces of each kind
    (`BodyKind.first`): of several exercises the earliest counts.
    """

    __slots__ = ("_held", "bodies", "exchanges", "firsts", "kinds", "pairs", "rules", "together")

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.kinds: dict[KindKey, BodyKind] = {}
        self.pairs: dict[PairKey, BodyPair] = {}
        """Kinds of `kinds` that are looked at together."""
        self.together: dict[tuple[str, ...], int] = {}
        self.exchanges = 0
        self.bodies = 0
        self.firsts: dict[KindKey, tuple[Earliest, Counter[str]]] = {}
        self._held: Held | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        """Return all but the pairs, which are looked up again elsewhere."""
        return self.rules, self.kinds, self.together, self.exchanges, self.bodies, self.firsts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.rules, self.kinds, self.together, self.exchanges, self.bodies, self.firsts = state
        self.pairs = {}
        self._held = None

    def held(self, name: str | None, version: str | None) -> Held:
        """Return this exercise with the name by which a client calls itself: one for all connections of the
        pair, mostly.
        """
        if self._held is None or self._held[:2] != (name, version):
            self._held = name, version, self
        return self._held

    def looks(self) -> Counter[str]:
        """Return subjects by rule code, after `settle`."""
        total = Counter(self.rules)
        for _, pieces in self.firsts.values():
            total.update(pieces)
        return total

    def look(self, codes: tuple[str, ...], times: int) -> None:
        """Count that these rules looked at something; `settle` counts them."""
        if times:
            self.together[codes] = self.together.get(codes, 0) + times

    def merge(self, other: Exercise) -> None:
        """Add the counts of another one, when both are settled."""
        self.rules.update(other.rules)
        for key, first in other.firsts.items():
            known = self.firsts.get(key)
            if known is None or first[0] < known[0]:
                self.firsts[key] = first

    def settle(
        self, exchange_rules: Iterable[ExchangeRule], undecodable_rules: Iterable[UndecodableRule]
    ) -> None:
        """Count what looked at everything, if only for whether something is wrong."""
        looks = self.rules
        for rule in exchange_rules:
            looks[rule.code] = self.exchanges
        for key, kind in self.kinds.items():
            if kind.first is not None:
                self.firsts[key] = kind.first, kind.pieces
            for body_rule in kind.rules:
                looks[body_rule.code] += kind.bodies
        for undecodable_rule in undecodable_rules:
            looks[undecodable_rule.code] = self.bodies
        for codes, count in self.together.items():
            for code in codes:
                looks[code] += count
        self.kinds.clear()
        self.pairs.clear()
        self.together.clear()


Pair = tuple[Software, Software]
Held = tuple[str | None, str | None, Exercise]
"""Name and version of a client's software, and what is judged on its connections."""


def _pair_order(item: tuple[Pair, Exercise]) -> list[str]:
    """Return the order of a pair, so that lists do not depend on who was seen first."""
    return [str(part or "") for software in item[0] for part in software]


class Exercises:
    """`at` says whose connection is judged; `now` is then what counts."""

    def __init__(self, labels: Labels) -> None:
        self.pairs: dict[Pair, Exercise] = {}
        self._labels = labels
        self.now = Exercise()
        self._open: dict[str, Held] = {}

    def at(self, info: ConnectionInfo) -> Exercise:
        """Count the following for this connection, and return `now`."""
        name, version = info.software_name, info.software_version
        held = self._open.get(info.id)
        if held is None or held[0] != name or held[1] != version:
            labels = self._labels
            pair = (
                Software(Who.CLIENT, name, version, label_of(info, Who.CLIENT, labels)),
                Software(Who.BROKER, label=label_of(info, Who.BROKER, labels)),
            )
            exercise = self._pair(pair)
            held = self._open[info.id] = exercise.held(name, version)
        self.now = held[2]
        return self.now

    def close(self, info: ConnectionInfo) -> None:
        """Forget a connection that is over."""
        self._open.pop(info.id, None)

    def finish(
        self, exchange_rules: Iterable[ExchangeRule], undecodable_rules: Iterable[UndecodableRule]
    ) -> None:
        """End the input: count everything that was looked at all the time."""
        for exercise in self.pairs.values():
            exercise.settle(exchange_rules, undecodable_rules)

    def rules(self) -> Counter[str]:
        """Return subjects by rule code, of all pairs."""
        total: Counter[str] = Counter()
        for exercise in self.pairs.values():
            total.update(exercise.looks())
        return total

    def merge(self, other: Exercises) -> None:
        """Add the counts of another one, when both are finished."""
        for pair, exercise in other.pairs.items():
            self._pair(pair).merge(exercise)

    def by_software(self, role: Who) -> dict[Software, Counter[str]]:
        """Return subjects by rule code, for each software of a role."""
        found: dict[Software, Counter[str]] = {}
        for (client, broker), exercise in sorted(self.pairs.items(), key=_pair_order):
            software = client if role is Who.CLIENT else broker
            found.setdefault(software, Counter()).update(exercise.looks())
        return found

    def _pair(self, pair: Pair) -> Exercise:
        found = self.pairs.get(pair)
        if found is None:
            if len(self.pairs) >= MAX_PAIRS:
                client, broker = pair
                pair = client._replace(name=None, version=None), broker
            found = self.pairs.setdefault(pair, Exercise())
        return found
