"""PAI017: A response contains only what the filter of its request selects."""

from collections.abc import Callable, Iterator
from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import InRequest, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_ANY = 1  # enums.table: aclResourceType, aclPatternType, aclOperation, aclPermission
_MATCH, _LITERAL = 2, 3  # aclPatternType
_EXACT, _DEFAULT = 0, 1  # quotaMatchType
_LISTS = ("types_filter", "state_filters", "configuration_keys")
"""Filters that select all if they are null or empty."""
Stray = tuple[str, str, str]
"""Path below the body, what the filter selects, and what the response contains."""


def _groups(asked: Any, answered: Any) -> Iterator[Stray]:
    types = [str(one) for one in sent(asked, "types_filter") or ()]
    known = {one.casefold() for one in types}  # GroupType#parse
    for index, group in enumerate(answered.groups or () if types else ()):
        if str(group.group_type).casefold() not in known:
            yield f"groups[{index}].group_type", f"one of {', '.join(types)}", repr(group.group_type)
            return


def _transactions(asked: Any, answered: Any) -> Iterator[Stray]:
    unknown = set(answered.unknown_state_filters or ())
    states = [one for one in asked.state_filters or () if one not in unknown]
    for index, row in enumerate(answered.transaction_states or () if states else ()):
        if row.transaction_state not in states:
            path = f"transaction_states[{index}].transaction_state"
            yield path, f"one of {', '.join(map(str, states))}", repr(row.transaction_state)
            return


def _configs(asked: Any, answered: Any) -> Iterator[Stray]:
    keys: dict[tuple[int, Any], set[Any] | None] = {}
    for resource in asked.resources or ():
        which = resource.resource_type, resource.resource_name
        named = resource.configuration_keys or None  # null or empty: all
        before = keys.get(which, set())
        keys[which] = None if named is None or before is None else before | set(named)
    for at, result in enumerate(answered.results or ()):
        known = keys.get((result.resource_type, result.resource_name))
        for index, config in enumerate(result.configs or () if known else ()):
            if known is not None and config.name not in known:
                path = f"results[{at}].configs[{index}].name"
                yield path, f"one of {', '.join(sorted(map(str, known)))}", repr(config.name)
                break


def _described_acls(asked: Any, answered: Any) -> Iterator[Stray]:
    for at, resource in enumerate(answered.resources or ()):
        for index, acl in enumerate(resource.acls or ()):
            stray = _unlike(asked, resource, acl)
            if stray is not None:
                name, expected, seen = stray
                where = f"resources[{at}]" if hasattr(resource, name) else f"resources[{at}].acls[{index}]"
                yield f"{where}.{name}", expected, seen
                return


def _deleted_acls(asked: Any, answered: Any) -> Iterator[Stray]:
    if len(asked.filters or ()) != len(answered.filter_results or ()):
        return  # PAI009
    for at, (wanted, result) in enumerate(zip(asked.filters, answered.filter_results, strict=True)):
        for index, acl in enumerate(result.matching_acls or ()):
            stray = _unlike(wanted, acl, acl)
            if stray is not None:
                name, expected, seen = stray
                yield f"filter_results[{at}].matching_acls[{index}].{name}", expected, seen
                break


def _unlike(wanted: Any, resource: Any, acl: Any) -> Stray | None:
    """Return the field of an ACL that a filter does not select, with what it selects."""
    pattern = sent(wanted, "pattern_type_filter", _LITERAL)
    numbers = [
        ("resource_type", wanted.resource_type_filter, resource.resource_type),
        ("operation", wanted.operation, acl.operation),
        ("permission_type", wanted.permission_type, acl.permission_type),
    ]
    if pattern > _MATCH:
        numbers.append(("pattern_type", pattern, sent(resource, "pattern_type", _LITERAL)))
    for name, one, seen in numbers:
        if one > _ANY and one != seen:
            return name, str(one), str(seen)
    texts = [("principal", wanted.principal_filter, acl.principal), ("host", wanted.host_filter, acl.host)]
    if pattern != _MATCH:  # matches prefixes and the wildcard as well
        texts.append(("resource_name", wanted.resource_name_filter, resource.resource_name))
    for name, text, found in texts:
        if text is not None and text != found:
            return name, repr(text), repr(found)
    return None


def _quotas(asked: Any, answered: Any) -> Iterator[Stray]:
    components = asked.components or ()
    types = {component.entity_type for component in components}
    for at, entry in enumerate(answered.entries or ()):
        names = {entity.entity_type: entity.entity_name for entity in entry.entity or ()}
        for component in components:
            kind, match = component.entity_type, component.match_type
            wanted = {_EXACT: component.match, _DEFAULT: None}.get(match, names.get(kind))
            if kind not in names or names[kind] != wanted:
                yield f"entries[{at}].entity", f"{kind} {wanted!r}", f"{names.get(kind)!r}"
                return
        if asked.strict and set(names) - types:
            yield f"entries[{at}].entity", f"{', '.join(sorted(types))} alone", ", ".join(sorted(names))
            return


_STRAYS: dict[str, Callable[[Any, Any], Iterator[Stray]]] = {
    "ListGroups": _groups,
    "ListTransactions": _transactions,
    "DescribeConfigs": _configs,
    "DescribeAcls": _described_acls,
    "DeleteAcls": _deleted_acls,
    "DescribeClientQuotas": _quotas,
}


class OutsideFilter(BodyRule):
    """A response must contain only entries that the filter of its request selects.

    ListGroups names types of groups, ListTransactions states, DescribeConfigs the keys of a resource.
    DescribeAcls and DeleteAcls filter by resource, principal, host, operation and permission, and
    DescribeClientQuotas by entity. A filter that is null or empty selects all. The rule skips the states of
    ListGroups: up to Kafka 3.9 a broker reads the state again after it has filtered. Filters that are keys of
    the results belong to PAI009.

    Example: DescribeConfigs for `retention.ms`, answered with `segment.bytes`.

    What to do: look for a filter that the broker ignores. A client that deletes by a filter deletes more.
    """

    code = "PAI017"
    name = "outside-filter"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "KIP-290 Public Interfaces",
        "KIP-664 Public Interfaces",
        "KIP-848 Public Interfaces",
        "org.apache.kafka.common.requests.DescribeClientQuotasRequest#filter",
        "spec/003 DescribeConfigs API",
    )
    on = tuple((api, RESPONSE) for api in _STRAYS)
    guard = (
        Longer(("matching_acls", "entries"), 0),  # DeleteAcls and DescribeClientQuotas
        Longer((".resources",), 0),  # DescribeAcls
        InRequest(Longer(_LISTS, 0)),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the first entry of each filter that it does not select."""
        asked = body.other()
        if asked is None or sent(body.value, "error_code", 0):
            return
        for path, expected, seen in _STRAYS[body.api.name](asked, body.value):
            yield body.violation(path, expected, seen)
