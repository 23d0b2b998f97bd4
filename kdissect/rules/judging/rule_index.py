"""Which rules look at what: sorted once, so that an exchange meets only the rules that can speak of it."""

from collections.abc import Sequence
from enum import StrEnum

from kdissect.rules.judging.batch_judge import carries_batches, has_topic_names
from kdissect.rules.judging.body_kind import BodyKind, BodyPair, KindKey, PairKey
from kdissect.rules.judging.shown_bodies import NodeRules, ShownExchange
from kdissect.rules.kinds import (
    BodyRule,
    ConnectionRule,
    ExchangeRule,
    FactRule,
    NodeRule,
    ProblemRule,
    UndecodableRule,
)
from kdissect.rules.rule import REQUEST, RESPONSE, Rule
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.run_coverage.rule_coverage import Exercise
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Reason

# Hostile requests can name 2^32 pairs of key and version; Kafka has 368.
_KINDS_KEPT = 4096


class Subjects:
    """The rules by what they look at, each list in the order of `rules`."""

    def __init__(self, rules: Sequence[Rule], *, guards: bool = True) -> None:
        self._guards = guards
        self.connection_rules = [rule for rule in rules if isinstance(rule, ConnectionRule)]
        self.exchange_rules = [rule for rule in rules if isinstance(rule, ExchangeRule)]
        self.undecodable_rules = [rule for rule in rules if isinstance(rule, UndecodableRule)]
        self.node_rules: NodeRules = {}
        """Those that have a guard."""
        self.open_node_rules: NodeRules = {}
        """All other rules: they read every body."""
        self._shown: dict[tuple[int, int, int], ShownExchange] = {}
        self.fact_rules: dict[tuple[type, StrEnum], list[FactRule]] = {}
        self.problem_rules: dict[Reason, list[ProblemRule]] = {}
        self._body_rules: dict[tuple[str, str], list[BodyRule]] = {}
        self._exchange_rules: dict[tuple[int | None, int | None, int], tuple[ExchangeRule, ...]] = {}
        for rule in rules:
            self._sort(rule)
        self.fact_codes = frozenset(rule.code for rule in rules if isinstance(rule, FactRule))

    def _sort(self, rule: Rule) -> None:
        if isinstance(rule, NodeRule):
            nodes = self.open_node_rules if rule.guard is None else self.node_rules
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

    def exchange_rules_of(self, exchange: Exchange, facts: int) -> tuple[ExchangeRule, ...]:
        """Return the rules that need an exchange with these `facts`."""
        return self.exchange_rules_for(exchange.api_key, exchange.api_version, facts)

    def exchange_rules_for(
        self, api_key: int | None, api_version: int | None, facts: int
    ) -> tuple[ExchangeRule, ...]:
        """Return the same by API key and version."""
        key = api_key, api_version, facts
        found = self._exchange_rules.get(key)
        if found is None:
            if len(self._exchange_rules) >= _KINDS_KEPT:
                self._exchange_rules.clear()
            found = self._exchange_rules[key] = tuple(
                rule for rule in self.exchange_rules if not self._guards or _is_shown(rule, *key)
            )
        return found

    def body_kind(self, key: KindKey, looked_at: Exercise) -> BodyKind:
        """Return the rules for bodies of a kind, and what `looked_at` counts of them."""
        found = looked_at.kinds.get(key)
        if found is None:
            found = looked_at.kinds[key] = self._kind_of(*key)
        return found

    def shown(self, exchange: Exchange) -> ShownExchange | None:
        """Return the rules for the bodies of an exchange; None if neither was decoded."""
        asked, answered = exchange.bodies_cache or exchange.bodies()
        api_key, version = exchange.api_key, exchange.api_version
        if api_key is None or version is None or (asked is None and answered is None):
            return None
        return self.shown_of((api_key, version, version if answered is None else answered.version))

    def shown_of(self, key: tuple[int, int, int]) -> ShownExchange:
        """Return the same by API key, and the versions of request and response."""
        found = self._shown.get(key)
        if found is None:
            if len(self._shown) >= _KINDS_KEPT:
                self._shown.clear()
            rules = self._rules_of(key[0], REQUEST, key[1]), self._rules_of(key[0], RESPONSE, key[2])
            found = self._shown[key] = ShownExchange(key, rules, self.node_rules)
        return found

    def body_pair(self, key: PairKey, looked_at: Exercise, coverage: Coverage) -> BodyPair | None:
        """Return the kinds of an exchange's bodies; None as long as one of them was not seen."""
        api_key, version, is_answered, marks = key
        if api_key is None or version is None:
            return None
        silent = [side.silent & marks for side in self.shown_of((api_key, version, version)).sides]
        asked = looked_at.kinds.get((api_key, REQUEST, version, silent[0]))
        answered = looked_at.kinds.get((api_key, RESPONSE, version, silent[1])) if is_answered else None
        if asked is None or (is_answered and answered is None):
            return None
        found = looked_at.pairs[key] = BodyPair(key, asked, answered, coverage.traffic)
        return found

    def _rules_of(self, api_key: int, side: str, version: int) -> tuple[BodyRule, ...]:
        rules = self._body_rules.get((api_name(api_key) or "", side), ())
        return tuple(rule for rule in rules if version in rule.versions)

    def _kind_of(self, api_key: int | None, side: str, version: int, _marks: int) -> BodyKind:
        key = api_key or 0
        rules = self._rules_of(key, side, version)
        return BodyKind(rules, carries_batches(api_name(key) or "", side) or has_topic_names(key))


def _is_shown(rule: ExchangeRule, api_key: int | None, api_version: int | None, facts: int) -> bool:
    return rule.concerns(api_key, api_version) and (rule.guard is None or bool(rule.guard & facts))
