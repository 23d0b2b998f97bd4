"""The facts of `ChangeTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.schema.error_codes import error_name
from kdissect.session.identities import cluster_fact
from kdissect.stats.by_change.change_requests import Item
from kdissect.stats.by_change.change_traffic import Change, ChangeTraffic

Facts = dict[str, Any]


def change_facts(traffic: ChangeTraffic) -> Facts:
    """Return the changes in the order of their requests."""
    rows = [_row(change) for change in traffic.changes]
    rows.sort(key=lambda row: row["time_ns"])  # stable: changes of one request stay in its order
    return {
        "changes": rows,
        "kinds": dict(Counter(row["kind"] for row in rows).most_common()),
        "forgotten": traffic.count - len(rows),
    }


# org.apache.kafka.common.protocol.Errors. The broker goes on after such an answer, and may still do it.
_REQUEST_TIMED_OUT = 7


def _did(item: Item) -> str:
    """Return the known action: a refused request has no effect, and an outcome may be unknown."""
    if item.code == 0:
        return item.did
    first, _, last = item.did.rpartition(" ")
    doubt = "perhaps" if item.code in (None, _REQUEST_TIMED_OUT) else "not"
    return f"{first} {doubt} {last}".lstrip()


def _row(change: Change) -> Facts:
    item, sent_ns = change.item, change.evidence.sent_ns
    return {
        **cluster_fact(change.info),
        "time": rfc3339(sent_ns),
        "time_ns": sent_ns,
        **change.client.facts(),
        "broker": change.broker,
        "through": change.through,
        "api": change.api,
        "kind": item.kind,
        "name": item.name,
        "did": _did(item),
        "detail": item.detail,
        "only_check": change.only_check,
        "answered": item.code is not None,
        "error": error_name(item.code) if item.code else None,
        "message": item.message if item.code else None,
        "took_ns": change.took_ns,
        "exchange": f"{change.evidence.connection}/{change.evidence.ordinal}",
    }
