"""Which rule can silence which: an `overrides` entry that cannot take effect is refused.

A rule silences another about the same exchange, so it must be judged first. `judge` has this order: exchange
rules, then for the request and the response in turn, body rules and rules about pieces, batches, bytes
outside of records, and records. Then come rules about facts of histories, which silence each other in any
order. Within a kind the registry has the order.
"""

from collections.abc import Sequence

from kdissect.rules.kinds import (
    BatchRule,
    BatchSubject,
    BodyRule,
    ConnectionRule,
    DomainRule,
    ExchangeRule,
    FactRule,
    NodeRule,
    ProblemRule,
    RecordFaultRule,
    RecordRule,
    UndecodableRule,
)
from kdissect.rules.rule import REQUEST, RESPONSE, Rule

_IN_A_BODY = (BodyRule, NodeRule, BatchRule, RecordFaultRule, RecordRule)
_EXCLUDE = "exclude the case in the check of {code} instead"


def refuse_idle_overrides(rules: Sequence[Rule]) -> None:
    """Raise ValueError for the first `overrides` entry that cannot take effect. `rules` are all, in order."""
    at = {rule.code: index for index, rule in enumerate(rules)}
    for index, rule in enumerate(rules):
        for code in rule.overrides:
            why = "no rule has this code" if code not in at else _why_idle(rule, rules[at[code]], index, at)
            if why:
                raise ValueError(f"{type(rule).__name__} ({rule.code}): overrides names {code}: {why}")


def _why_idle(rule: Rule, other: Rule, index: int, at: dict[str, int]) -> str:
    """Return why `rule` can never silence `other`, and a remedy, or an empty text if it can."""
    code = other.code
    if rule is other:
        return "that is the rule itself: remove the entry"
    kind, other_kind = _kind(rule), _kind(other)
    if not _are_of_one_subject(rule, other):
        return (
            f"a {kind.__name__} and this {other_kind.__name__} never judge the same thing: remove the entry, "
            f"or {_EXCLUDE.format(code=code)}"
        )
    is_first = _is_judged_first(rule, other)
    if is_first is None:
        is_first = index < at[code]
        cure = (
            f"move {type(rule).__name__} in front of {type(other).__name__} "
            f"({type(other).__module__}) in kdissect/rules/registry.py, or {_EXCLUDE.format(code=code)}"
        )
    else:
        cure = _EXCLUDE.format(code=code)
    return "" if is_first else f"{code} is judged before {rule.code}; {cure}"


def _are_of_one_subject(rule: Rule, other: Rule) -> bool:
    if isinstance(rule, ProblemRule) or isinstance(other, ProblemRule):
        return False  # each is judged alone
    if isinstance(rule, ConnectionRule) or isinstance(other, ConnectionRule):
        return isinstance(rule, ConnectionRule) and isinstance(other, ConnectionRule)
    if isinstance(rule, UndecodableRule) and isinstance(other, UndecodableRule):
        return bool(rule.kinds & other.kinds)
    if isinstance(rule, UndecodableRule):
        return isinstance(other, FactRule | ExchangeRule)
    if isinstance(other, UndecodableRule):
        return isinstance(rule, FactRule | ExchangeRule)
    apis, other_apis = _apis(rule), _apis(other)
    return apis is None or other_apis is None or bool(apis & other_apis)


def _is_judged_first(rule: Rule, other: Rule) -> bool | None:
    """Return whether `rule` is judged before `other`; None if the registry decides."""
    if isinstance(rule, FactRule) and isinstance(other, FactRule):
        return True
    stages = _stage(rule), _stage(other)
    if stages[0] != stages[1]:
        return stages[0] < stages[1]
    sides, other_sides = _sides(rule), _sides(other)
    if REQUEST in sides and REQUEST not in other_sides:
        return True  # it may speak of the request, which is judged before the response
    if not sides & other_sides:
        return False
    kinds = _kind(rule), _kind(other)
    if kinds[0] is kinds[1] or UndecodableRule in kinds or stages[0] != 1:
        return None
    return _IN_A_BODY.index(kinds[0]) < _IN_A_BODY.index(kinds[1])


def _stage(rule: Rule) -> int:
    if isinstance(rule, ExchangeRule | ConnectionRule):
        return 0
    return 2 if isinstance(rule, FactRule) else 1


def _sides(rule: Rule) -> set[str]:
    if isinstance(rule, BodyRule):
        return {side for _, side in rule.on}
    if isinstance(rule, DomainRule) and rule.side:
        return {rule.side}
    if isinstance(rule, NodeRule) and rule.requests is not None:
        return {REQUEST}
    if isinstance(rule, BatchSubject) and rule.produced is not None:
        return {REQUEST if rule.produced else RESPONSE}
    return {REQUEST, RESPONSE}


def _apis(rule: Rule) -> set[str] | None:
    """Return the names of the APIs that a rule looks at; None: any."""
    if isinstance(rule, BodyRule):
        return {api for api, _ in rule.on}
    if isinstance(rule, NodeRule) and rule.requests is not None:
        return set(rule.requests)
    return None


def _kind(rule: Rule) -> type[Rule]:
    """Return the class of `rules.kinds` that a rule is of."""
    if isinstance(rule, NodeRule):
        return NodeRule  # a DomainRule is judged among them
    return next(base for base in type(rule).__mro__ if base.__module__ == BodyRule.__module__)
