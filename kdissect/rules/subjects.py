"""Which rules look at what: sorted once, so that an exchange meets only the rules that can speak of it."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from kdissect.rules.batches import carries_batches, tells_names
from kdissect.rules.body_kind import BodyKind
from kdissect.rules.body_pair import BodyPair, PairKey
from kdissect.rules.connection_view import ConnectionView
from kdissect.rules.coverage import Coverage
from kdissect.rules.exercise import Exercise
from kdissect.rules.kinds import (
    BodyRule,
    ConnectionRule,
    ExchangeRule,
    FactRule,
    MisfitRule,
    NodeRule,
    ProblemRule,
)
from kdissect.rules.rule import REQUEST, RESPONSE, Rule
from kdissect.rules.usual_bodies import usual_bodies
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Reason

NodeRules = dict[str, list[NodeRule]]
ExchangeChecks = tuple[tuple[ExchangeRule, Callable[[Exchange, ConnectionView], bool]], ...]
"""Rules with their quick looks, in the order of the registry."""
USUAL, UNUSUAL, ODD = "usual", "unusual", "odd"
"""Sorts of exchanges; each meets the rules of the sorts before it too."""
# These have nothing to say of a body that is plain (`decoders.plain`), but for what its kind has in common.
_SILENT_OF_PLAIN = frozenset(
    f"BDY{number:03}" for number in (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 23)
)
# Hostile requests can name 2^32 pairs of key and version; Kafka has 368.
_KINDS_KEPT = 4096


class Subjects:
    """The rules by what they look at, each list in the order of `rules`."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.connection_rules = [rule for rule in rules if isinstance(rule, ConnectionRule)]
        self.exchange_rules = [rule for rule in rules if isinstance(rule, ExchangeRule)]
        self.look_at_usual = not all(rule.only_odd or rule.only_unusual for rule in self.exchange_rules)
        self.misfit_rules = [rule for rule in rules if isinstance(rule, MisfitRule)]
        self.node_rules: NodeRules = {}
        """Those that are silent of plain bodies, by the sort of pieces they look at."""
        self.open_node_rules: NodeRules = {}
        """All others: they look at every body."""
        self.fact_rules: dict[tuple[type, StrEnum], list[FactRule]] = {}
        self.problem_rules: dict[Reason, list[ProblemRule]] = {}
        self._body_rules: dict[tuple[str, str], list[BodyRule]] = {}
        self._exchange_checks: dict[tuple[int | None, int | None, str], ExchangeChecks] = {}
        # These are looked at even where they cannot speak: whether one was shadowed counts for the coverage.
        self._shadowable = frozenset(code for rule in rules for code in rule.shadows)
        for rule in rules:
            self._sort(rule)

    def _sort(self, rule: Rule) -> None:
        if isinstance(rule, NodeRule):
            nodes = self.node_rules if rule.code in _SILENT_OF_PLAIN else self.open_node_rules
            for sort in rule.nodes:
                nodes.setdefault(sort, []).append(rule)
        elif isinstance(rule, FactRule):
            for kind in rule.facts:
                self.fact_rules.setdefault((type(kind), kind), []).append(rule)
        elif isinstance(rule, ProblemRule):
            for reason in rule.reasons:
                self.problem_rules.setdefault(reason, []).append(rule)
        elif isinstance(rule, BodyRule):
            for subject in rule.on:
                self._body_rules.setdefault(subject, []).append(rule)

    def exchange_checks(self, exchange: Exchange, sort: str) -> ExchangeChecks:
        """The rules that an exchange of this API and version may break; `sort` as above."""
        key = exchange.api_key, exchange.api_version, sort
        found = self._exchange_checks.get(key)
        if found is None:
            if len(self._exchange_checks) >= _KINDS_KEPT:
                self._exchange_checks.clear()
            found = self._exchange_checks[key] = self._checks_for(*key)
        return found

    def _checks_for(self, api_key: int | None, api_version: int | None, sort: str) -> ExchangeChecks:
        checks: list[tuple[ExchangeRule, Callable[[Exchange, ConnectionView], bool]]] = []
        for rule in self.exchange_rules:
            if (rule.only_odd and sort != ODD) or (rule.only_unusual and sort == USUAL):
                continue
            if rule.concerns(api_key, api_version):
                checks.append((rule, rule.is_suspect))
            elif rule.code in self._shadowable:
                checks.append((rule, _never))
        return tuple(checks)

    def body_kind(self, exchange: Exchange, side: str, version: int, looked_at: Exercise) -> BodyKind:
        """The rules for bodies of this API, side and version, and what `looked_at` counts of them."""
        key = exchange.api_key, side, version
        found = looked_at.kinds.get(key)
        if found is None:
            found = looked_at.kinds[key] = self._kind_of(exchange, side, version)
        return found

    def body_pair(self, key: PairKey, looked_at: Exercise, coverage: Coverage) -> BodyPair | None:
        """The kinds of both bodies of an exchange, where a look at both can tell that no rule speaks of them.

        None where there is no such look, and as long as one of the kinds was not seen.
        """
        api_key, version, is_answered = key
        look = None if api_key is None or version is None else usual_bodies(api_key, version)
        if look is None or version is None or self.look_at_usual or self.open_node_rules:
            looked_at.pairs[key] = None
            return None
        asked = looked_at.kinds.get((api_key, REQUEST, version))
        answered = looked_at.kinds.get((api_key, RESPONSE, version)) if is_answered else None
        if asked is None or (is_answered and answered is None):
            return None
        kinds = [asked] if answered is None else [asked, answered]
        codes = {rule.code for kind in kinds for rule, _ in kind.plain_checks}
        found = BodyPair(key, asked, answered, look.look, coverage.traffic) if codes <= look.covers else None
        looked_at.pairs[key] = found
        return found

    def _kind_of(self, exchange: Exchange, side: str, version: int) -> BodyKind:
        key = exchange.api_key or 0
        name = api_name(key) or ""
        rules = tuple(rule for rule in self._body_rules.get((name, side), ()) if version in rule.versions)
        plain = tuple(rule for rule in rules if not rule.only_odd or rule.code in self._shadowable)
        return BodyKind(rules, plain, carries_batches(name, side) or tells_names(key))


def _never(_exchange: Exchange, _view: ConnectionView) -> bool:
    return False
