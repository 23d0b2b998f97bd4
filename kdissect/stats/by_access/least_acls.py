"""The fewest access control entries that permit what was captured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kdissect.stats.by_access.access_traffic import AccessKey, Uses
from kdissect.stats.by_access.acl import (
    ALLOW,
    ANY_HOST,
    ANY_NAME,
    LITERAL,
    PREFIXED,
    USER_PREFIX,
    Acl,
)
from kdissect.stats.by_access.operations import ENOUGH_FOR
from kdissect.stats.by_access.requirements import Outcome
from kdissect.stats.denials import CLUSTER

_SEPARATORS = ".-_"  # after which a prefix ends
_FEWEST = 3  # names with one prefix, or resources with a name


def is_granted(uses: Uses) -> bool:
    """Return whether the broker allowed an access, or did not answer it."""
    return bool(uses.outcomes[Outcome.ALLOWED]) or (
        bool(uses.outcomes[Outcome.UNANSWERED]) and not uses.outcomes[Outcome.DENIED]
    )


def least_acls(rows: Iterable[tuple[AccessKey, Uses]], *, patterns: bool = False) -> list[Acl]:
    """Return the entries for rows of one cluster with known principals and names. `*` is no name of an
    entry: it means all.

    An operation has no entry if another one of the same principal is enough for it. With `patterns`, names
    with a common prefix have one entry.
    """
    needed: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    any_of: dict[tuple[str, str, str, str], set[tuple[str, str]]] = {}
    for key, uses in rows:
        if key.who.principal is None or isinstance(key.name, bytes):
            continue
        if ANY_NAME in (key.who.principal, key.name):
            continue
        needed[key.who.principal, key.resource][key.name].add(key.operation)
        others = {(other.operation, other.resource) for other in uses.alternatives if other.on_any}
        if others:
            any_of[key.who.principal, key.resource, key.name, key.operation] = others
    for (principal, resource, name, operation), others in any_of.items():
        has = {
            (held, kind)
            for (who, kind), names in needed.items()
            if who == principal
            for operations in names.values()
            for held in operations
        }
        if not others.isdisjoint(has):
            needed[principal, resource][name].discard(operation)
    found: list[Acl] = []
    for (principal, resource), names in sorted(needed.items()):
        kept = {name: frozenset(map(str, _without_implied(held))) for name, held in sorted(names.items())}
        shared = _by_pattern(kept) if patterns and resource != CLUSTER else {}
        for name, operations in kept.items():
            pattern, shown = shared.get((name, operations), (LITERAL, name))
            found += [
                Acl(USER_PREFIX + principal, ANY_HOST, operation, ALLOW, resource, shown, pattern)
                for operation in sorted(operations)
            ]
    return list(dict.fromkeys(found))


def _without_implied(operations: set[str]) -> set[str]:
    return {one for one in operations if operations.isdisjoint(ENOUGH_FOR.get(one, ()))}


def _by_pattern(names: dict[str, frozenset[str]]) -> dict[tuple[str, frozenset[str]], tuple[str, str]]:
    """Return pattern type and name for names with a prefix in common.

    The prefix is the longest one that ends with a separator and that at least `_FEWEST` names with the same
    operations have. Without one, all names have a wildcard if there are at least as many of them with the
    same operations.
    """
    found: dict[tuple[str, frozenset[str]], tuple[str, str]] = {}
    by_operations: dict[frozenset[str], list[str]] = defaultdict(list)
    for name, operations in names.items():
        by_operations[operations].append(name)
    for operations, same in by_operations.items():
        counts: dict[str, int] = defaultdict(int)
        for name in same:
            for prefix in _prefixes(name):
                counts[prefix] += 1
        for name in same:
            common = [prefix for prefix in _prefixes(name) if counts[prefix] >= _FEWEST]
            if common:
                found[name, operations] = PREFIXED, max(common, key=len)
            elif len(same) >= _FEWEST and not any(counts[p] >= _FEWEST for n in same for p in _prefixes(n)):
                found[name, operations] = LITERAL, ANY_NAME
    return found


def _prefixes(name: str) -> list[str]:
    return [name[: at + 1] for at, char in enumerate(name[:-1]) if char in _SEPARATORS and at]
