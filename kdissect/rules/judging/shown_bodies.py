"""Decides which rules receive the bodies of one API in one version, by the marks of their guards."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from kdissect.decoders.body_schemas import known_body
from kdissect.rules.finding_evidence import has_no_error
from kdissect.rules.judging.body_guards import EVERY, BodyGuards
from kdissect.rules.kinds import BodyRule, NodeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import API_VERSIONS
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange

NodeRules = dict[str, list[NodeRule]]
"""Rules by the sort of pieces they look at."""
BodyFault = tuple[BodyRule, Violation]
_MASKS_KEPT = 256
_BODIES_KEPT = 1024  # of 1 KB each


class ShownBodies:
    """The rules about bodies of one kind, an API, a side and a version: rules without a guard
    always apply.
    """

    def __init__(
        self,
        guards: BodyGuards,
        kind: tuple[str, str, int],
        body_rules: Iterable[BodyRule],
        node_rules: NodeRules,
    ) -> None:
        is_response = kind[1] == RESPONSE
        self._body_rules = [(rule, _bits(guards, rule, is_response)) for rule in body_rules]
        self._node_rules = {
            sort: [(rule, _bits(guards, rule, is_response)) for rule in rules]
            for sort, rules in node_rules.items()
        }
        spoken, silent = guards.shared_bits, 0
        for rule, bits in chain(self._body_rules, *self._node_rules.values()):
            if isinstance(rule, NodeRule) and not rule.speaks_of(*kind):
                silent |= bits
            else:
                spoken |= bits
        self.silent = silent & ~spoken
        """Marks of rules that never speak of such bodies. The first body with the same ones stands for all
        of them in what is counted (`BodyKind`).
        """
        self.checkable = self._bits_of_bodies() & ~guards.shared_bits
        """Marks that are only of rules about whole bodies, which a short look can follow."""
        self.exact = self._exact_bits() & ~guards.loose
        """Marks that are only of rules that are exact: each stands for one fault."""
        self.open_rules = [rule for rule, _ in self._body_rules if rule.guard is None]
        """Rules about whole bodies without a guard: they receive all bodies."""
        self._shown: dict[int, tuple[tuple[BodyRule, ...], NodeRules]] = {}

    def _exact_bits(self) -> int:
        exact = others = 0
        for rule, bits in chain(self._body_rules, *self._node_rules.values()):
            if isinstance(rule, BodyRule) and rule.exact:
                exact |= bits
            else:
                others |= bits
        return exact & ~others

    def _bits_of_bodies(self) -> int:
        bodies = pieces = 0
        for _, bits in self._body_rules:
            bodies |= bits
        for _, bits in chain(*self._node_rules.values()):
            pieces |= bits & ~self.silent
        return bodies & ~pieces

    def faults(self, body: Body, marks: int) -> list[BodyFault] | None:
        """Return the faults of a body with these marks, all `checkable`. None: the judge must look closely at
        it, for a rule or because the coverage counts what a rule passes over.
        """
        found: list[BodyFault] = []
        for rule in self.shown(marks)[0] if marks else self.open_rules:
            if rule.needs_judge(body) or (rule.refusable and not has_no_error(body)):
                return None
            found += [(rule, fault) for fault in rule.check(body)]
        return found

    def shown(self, marks: int) -> tuple[tuple[BodyRule, ...], NodeRules]:
        """Return the rules for a body with these marks, in the order of the registry."""
        found = self._shown.get(marks)
        if found is None:
            if len(self._shown) >= _MASKS_KEPT:
                self._shown.clear()
            bodies = tuple(rule for rule, bits in self._body_rules if _is_shown(rule, bits, marks))
            by_sort = {
                sort: [rule for rule, bits in rules if _is_shown(rule, bits & ~self.silent, marks)]
                for sort, rules in self._node_rules.items()
            }
            nodes = {sort: rules for sort, rules in by_sort.items() if rules}
            found = self._shown[marks] = bodies, nodes
        return found


def _bits(guards: BodyGuards, rule: BodyRule | NodeRule, is_response: bool) -> int:
    return 0 if rule.guard is None else guards.add(rule.guard, is_response)


def _is_shown(rule: BodyRule | NodeRule, bits: int, marks: int) -> bool:
    return rule.guard is None or marks == EVERY or bool(bits & marks)


class ShownExchange:
    """Both sides, and the guards that decide about rules."""

    def __init__(
        self,
        key: tuple[int, int, int],
        body_rules: tuple[Iterable[BodyRule], Iterable[BodyRule]],
        node_rules: NodeRules,
    ) -> None:
        api_key, version, answered = key
        request, response = known_body(api_key, version, False), known_body(api_key, answered, True)
        assert request is not None and response is not None  # the bodies were decoded
        self.guards = BodyGuards((request, version), (response, answered))
        name = api_name(api_key) or ""
        kinds = (name, REQUEST, version), (name, RESPONSE, answered)
        self.sides = tuple(
            ShownBodies(self.guards, kind, rules, node_rules)
            for kind, rules in zip(kinds, body_rules, strict=True)
        )
        self.is_guarded = not any(side.open_rules for side in self.sides)
        self.silent = self.sides[0].silent | self.sides[1].silent
        self.checkable = (self.sides[0].checkable | self.sides[1].checkable) & ~self.silent
        self.exact = self.checkable & (self.sides[0].exact | self.sides[1].exact)
        self._is_same_for_all = api_key == API_VERSIONS
        self._without_finding: set[tuple[bytes, bytes]] = set()
        """Bodies of requests and responses that are equal on many connections. Their rules only read the two
        bodies.
        """

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the bodies, which another process judges once more."""
        return self.__dict__ | {"_without_finding": set()}

    def rules(self, marks: int) -> list[BodyRule]:
        """Return the rules about whole bodies for an exchange with these marks."""
        return [rule for side in self.sides for rule in side.shown(marks)[0]]

    def faults(self, exchange: Exchange, marks: int = 0) -> list[BodyFault] | None:
        """Return the faults of the bodies of an exchange, which fit, with these marks, all `checkable`. None:
        the judge must look closely at them.
        """
        if self.is_guarded and not marks:
            return []
        request, response = exchange.request, exchange.response
        if marks or not self._is_same_for_all or request is None or response is None:
            return self._faults(exchange, marks)
        bodies = (
            request.data[exchange.request_body_offset :],
            response.data[exchange.response_body_offset :],
        )
        if bodies in self._without_finding:
            return []
        found = self._faults(exchange, marks)
        if found == []:
            if len(self._without_finding) >= _BODIES_KEPT:
                self._without_finding.clear()
            self._without_finding.add(bodies)
        return found

    def _faults(self, exchange: Exchange, marks: int) -> list[BodyFault] | None:
        asked, answered = exchange.bodies()
        assert asked is not None
        request = Body(exchange, REQUEST, asked)
        found = self.sides[0].faults(request, marks)
        if found is None or answered is None:
            return found
        others = self.sides[1].faults(Body(exchange, RESPONSE, answered, request), marks)
        return None if others is None else found + others
