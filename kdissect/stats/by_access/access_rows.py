"""The facts of `AccessTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.times import rfc3339
from kdissect.stats.by_access.access_traffic import AccessKey, AccessTraffic, Uses
from kdissect.stats.by_access.acl import ALLOW, USER_PREFIX, Acl, granting
from kdissect.stats.by_access.least_acls import is_granted, least_acls
from kdissect.stats.by_access.requirements import Outcome
from kdissect.stats.client import text_of

Facts = dict[str, Any]


class Existing(NamedTuple):
    """Entries to compare with. `source` names the file or the response, `is_complete` says that there are no
    others.
    """

    acls: Sequence[Acl]
    source: str
    is_complete: bool


class Cluster(NamedTuple):
    """The accesses of one cluster, empty if only one was captured, and the entries that permit them."""

    name: str
    rows: list[tuple[AccessKey, Uses]]
    acls: list[Acl]


def clusters_of(traffic: AccessTraffic, *, patterns: bool, with_denied: bool) -> list[Cluster]:
    """Return the accesses by cluster, in the order of principal, client, resource and operation."""
    by_cluster: dict[str, list[tuple[AccessKey, Uses]]] = {}
    for key, uses in sorted(traffic.rows().items(), key=lambda row: _order(row[0])):
        by_cluster.setdefault(key.who.scope, []).append((key, uses))
    return [
        Cluster(
            name, rows,
            least_acls((row for row in rows if with_denied or is_granted(row[1])), patterns=patterns),
        )
        for name, rows in sorted(by_cluster.items())
    ]  # fmt: skip


def access_facts(traffic: AccessTraffic, clusters: Sequence[Cluster], existing: Existing | None) -> Facts:
    """Return the accesses, the entries that permit them, and what differs from the existing entries."""
    window = {
        "first_time": None if traffic.first_ns is None else rfc3339(traffic.first_ns),
        "last_time": None if traffic.last_ns is None else rfc3339(traffic.last_ns),
        "took_ns": (traffic.last_ns or 0) - (traffic.first_ns or 0),
    }
    unused, lacking = [], []
    for cluster in clusters:
        known = existing or _captured(traffic, cluster)
        if known is not None:
            unused += [_of(cluster) | acl.facts() for acl in unused_acls(cluster.rows, known.acls)]
            lacking += _lacking(cluster, known)
    known = existing or next((found for each in clusters if (found := _captured(traffic, each))), None)
    return {
        "window": window,
        "access": [_of(cluster) | _row(*row) for cluster in clusters for row in cluster.rows],
        "acls": [_of(cluster) | acl.facts() for cluster in clusters for acl in cluster.acls],
        "existing": None
        if known is None
        else {"source": known.source, "is_complete": known.is_complete, "count": len(known.acls)},
        "unused": unused,
        "lacking": lacking,
        "forgotten": traffic.forgotten,
    }


def _captured(traffic: AccessTraffic, cluster: Cluster) -> Existing | None:
    """Return the entries that responses of a cluster list."""
    scopes = {scope for scope in traffic.acls.scopes() if traffic.apart(scope) == cluster.name}
    found = traffic.acls.of(scopes)
    if found is None:
        return None
    acls, time_ns = found
    at = "" if time_ns is None else f" at {rfc3339(time_ns)}"
    return Existing(acls, f"DescribeAcls{at}", time_ns is not None)


def _of(cluster: Cluster) -> Facts:
    return {"cluster": cluster.name} if cluster.name else {}


def _order(key: AccessKey) -> tuple[str, ...]:
    who = key.who
    return (
        who.principal or "\uffff", who.client_id or "", who.address, key.resource, name_text(key.name),
        key.operation, *map(str, who),
    )  # fmt: skip


def name_text(name: str | bytes) -> str:
    """Return the name of a resource; the id of a topic as Kafka prints it."""
    return topic_id_text(name) if isinstance(name, bytes) else name


def _row(key: AccessKey, uses: Uses) -> Facts:
    who = key.who
    return {
        "principal": who.principal,
        "principal_source": str(who.source),
        "client_id": who.client_id,
        "software": who.software,
        "address": who.address,
        "operation": key.operation,
        "resource": key.resource,
        "name": name_text(key.name),
        "requests": sum(uses.outcomes.values()),
        **{str(outcome): uses.outcomes[outcome] for outcome in Outcome},
        "apis": dict(sorted(uses.apis.items())),
        "alternatives": [str(other) for other in uses.alternatives],
        "first_time": None if uses.first_ns is None else rfc3339(uses.first_ns),
        "last_time": None if uses.last_ns is None else rfc3339(uses.last_ns),
    }


def unused_acls(rows: Iterable[tuple[AccessKey, Uses]], acls: Sequence[Acl]) -> list[Acl]:
    """Return the entries that allow something, and that no access of these rows needed."""
    used: set[Acl] = set()
    for key, uses in rows:
        if key.who.principal is not None:
            for operation, resource, name in _ways(key, uses):
                used |= _matching(acls, key, operation, resource, name)
    return [acl for acl in acls if acl.permission == ALLOW and acl not in used]


def _ways(key: AccessKey, uses: Uses) -> Iterable[tuple[str, str, str | None]]:
    """Yield the access, and other operations that are enough for it. None: on any name."""
    yield key.operation, key.resource, text_of(key.name)
    for other in uses.alternatives:
        same = other.resource == key.resource and not other.on_any
        yield other.operation, other.resource, text_of(key.name) if same else None


def _matching(
    acls: Sequence[Acl], key: AccessKey, operation: str, resource: str, name: str | None
) -> set[Acl]:
    principal = USER_PREFIX + (key.who.principal or "")
    if name is not None:
        return set(granting(acls, principal, key.who.host, operation, resource, name)[0])
    return {
        acl for acl in acls
        if acl.is_about(principal, key.who.host) and acl.resource == resource and acl.allows(operation)
    }  # fmt: skip


def _lacking(cluster: Cluster, existing: Existing) -> list[Facts]:
    """Return accesses that the existing entries do not permit: none allows it, or one denies it.

    If there may be other entries, only accesses that one denies.
    """
    found = []
    for key, uses in cluster.rows:
        if key.who.principal is None or isinstance(key.name, bytes):
            continue
        principal = USER_PREFIX + key.who.principal
        denying = granting(existing.acls, principal, key.who.host, key.operation, key.resource, key.name)[1]
        allowing = any(_matching(existing.acls, key, *way) for way in _ways(key, uses))
        if denying or (existing.is_complete and not allowing):
            why = "an ACL denies it" if denying else "no ACL allows it"
            found.append(_of(cluster) | _row(key, uses) | {"why": why})
    return found
