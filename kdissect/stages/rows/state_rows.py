"""Rows of the tables about what crosses exchanges: topics, groups, producers, transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.stages.rows.table_rows import counts

_USES = ("writers", "readers")


def topic_rows(capture_set: str, topics: Iterable[Row]) -> Iterator[Row]:
    """Yield rows of `topics` from `stats.topic_rows.topic_facts`."""
    for facts in topics:
        row = {**facts, "capture_set": capture_set}
        for name in ("written", "read"):
            row[name] = _with_counts(facts[name], "errors")
        for name in _USES:
            row[name] = [_with_counts(user, "errors") for user in facts[name]]
        yield _with_counts(row, "codecs", "magics")


def group_rows(capture_set: str, groups: Iterable[Row]) -> Iterator[Row]:
    """Yield rows of `groups` from `stats.group_rows.group_facts`."""
    for facts in groups:
        rebalances = [one | {"reasons": _pairs(one["reasons"])} for one in facts["rebalances"]]
        row = {**facts, "capture_set": capture_set, "rebalances": rebalances}
        yield _with_counts(row, "errors")


def producer_rows(capture_set: str, facts: Row) -> Iterator[Row]:
    """Yield rows of `producers` from `stats.producer_rows.producer_facts`."""
    for row in facts["producers"]:
        partitions = [one | {"partition": _number(one)} for one in row["partitions"]]
        made = {**row, "capture_set": capture_set, "partitions": partitions}
        yield _with_counts(made, "errors", "event_counts")
    for row in facts["without_id"]:
        client_id = row["client_id"]
        yield {
            "capture_set": capture_set,
            "client_ids": [] if client_id is None else [client_id],
            "batches": row["batches"],
            "errors": [],
            "event_counts": [],
            "partitions": [],
            "events": [],
        }


def transaction_rows(capture_set: str, facts: Row) -> Iterator[Row]:
    """Yield rows of `transactions` from the same facts."""
    for row in facts["transactional_ids"]:
        yield _with_counts({**row, "capture_set": capture_set}, "errors", "event_counts", "outcomes")


def _with_counts(row: Row, *names: str) -> Row:
    return row | {name: counts(row[name]) for name in names}


def _pairs(reasons: dict[Any, str]) -> list[Row]:
    return [{"member": member, "reason": reason} for member, reason in reasons.items()]


def _number(partition: Row) -> int:
    """Return the number of a partition which is called `TOPIC-NUMBER`."""
    return int(partition["partition"][len(partition["topic"]) + 1 :])
