"""The facts of `ProducerTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.history.fact import Evidence
from kdissect.history.producing.producer import Producer
from kdissect.history.producing.producers import ProducerKey
from kdissect.history.producing.transaction import Transaction, TransactionalId
from kdissect.history.producing.transactions import IdKey
from kdissect.stats.by_producer.producer_log import ProducerLog
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic

Facts = dict[str, Any]
Wanted = Callable[[str], object]
# Null if a request log has Produces of the cluster: it has no batches.
_OF_BATCHES = ("batches", "records", "retries", "duplicates", "sequence_jumps")


def producer_facts(traffic: ProducerTraffic, wanted: Wanted | None = None) -> Facts:
    """Return all rows. `wanted` chooses by producer id, transactional id or client id."""
    history = traffic.history
    producers = [
        _producer(traffic, key, held)
        for key, held in history.producers.producers.items()
        if traffic.is_wanted(key[0], held.producer_id, held.transactional_id)
    ]
    ids = [
        _transactional_id(traffic, key, held)
        for key, held in history.transactions.ids.items()
        if traffic.is_wanted(key[0], held.producer_id, held.transactional_id)
    ]
    return {
        "producers": [row for row in producers if _is_wanted(row, wanted)],
        "transactional_ids": [row for row in ids if _is_wanted(row, wanted)],
        "without_id": [
            {"client_id": client_id, "batches": count}
            for client_id, count in traffic.without_id.items()
            if count and (wanted is None or wanted(client_id or ""))
        ],
        "forgotten": history.producers.producers.forgotten + history.transactions.ids.forgotten,
    }


def _is_wanted(row: Facts, wanted: Wanted | None) -> bool:
    names = (str(row["producer_id"]), row["transactional_id"] or "", *row["client_ids"])
    if wanted is None:
        return True
    found = [wanted(name) for name in names]  # each name is tested: an unused name is reported
    return any(found)


def _producer(traffic: ProducerTraffic, key: ProducerKey, producer: Producer) -> Facts:
    capture_set = key[0]
    log = traffic.producer_logs.peek(key) or ProducerLog()
    return {
        **traffic.cluster_facts(capture_set),
        "producer_id": producer.producer_id,
        "epoch": producer.epoch if producer.epoch is not None else _last_epoch(producer),
        "transactional_id": producer.transactional_id,
        "client_ids": [client_id or "" for client_id in producer.client_ids],
        "given_in_capture": producer.given_by is not None,
        "in_two_clusters": producer.is_ambiguous,
        "batches": producer.batches,
        "records": producer.records,
        "retries": producer.retries,
        "duplicates": producer.duplicates,
        "sequence_jumps": producer.jumps,
        **(dict.fromkeys(_OF_BATCHES) if capture_set in traffic.logged else {}),
        "refusals": producer.refusals,
        "errors": dict(log.errors.most_common()),
        "partitions": [
            {
                "topic": traffic.topic_text(capture_set, partition[0]),
                "partition": traffic.partition_text(capture_set, *partition),
                "epoch": held.epoch,
                "next_sequence": held.brokers_next,
            }
            for partition, held in producer.partitions.items()
        ],
        **_events(log),
    }


def _last_epoch(producer: Producer) -> int | None:
    """Return the last epoch of the batches, for an epoch whose assignment was not captured."""
    return max((held.epoch for held in producer.partitions if held.epoch is not None), default=None)


def _transactional_id(traffic: ProducerTraffic, key: IdKey, held: TransactionalId) -> Facts:
    log = traffic.id_logs.peek(key) or ProducerLog()
    transactions = [*held.ended, *([] if held.current is None else [held.current])]
    return {
        **traffic.cluster_facts(key[0]),
        "transactional_id": held.transactional_id,
        "producer_id": held.producer_id,
        "epoch": held.epoch,
        "state": str(held.state),
        "client_ids": sorted(client_id or "" for client_id in held.client_ids),
        "taken": held.owners,
        "timeout_ms": held.timeout_ms,
        "outcomes": {str(outcome): count for outcome, count in held.outcomes.items()},
        "errors": dict(log.errors.most_common()),
        "transactions": [_transaction(traffic, key[0], one) for one in transactions],
        **_events(log),
    }


def _transaction(traffic: ProducerTraffic, capture_set: str, one: Transaction) -> Facts:
    began, ended = _time_ns(one.began, "sent"), _time_ns(one.ended, "answered")
    return {
        "producer_id": one.producer_id,
        "epoch": one.epoch,
        "began": None if began is None else rfc3339(began),
        "ended": None if ended is None else rfc3339(ended),
        "took_ns": None if began is None or ended is None else ended - began,
        "outcome": "open" if one.outcome is None else str(one.outcome),
        "batches": None if capture_set in traffic.logged else one.batches,
        "records": None if capture_set in traffic.logged else one.records,
        # One partition may be named in one request and have its topic's id in another one.
        "partitions": sorted(
            {traffic.partition_text(capture_set, *partition) for partition in one.partitions}
        ),
        "groups": sorted(one.groups),
        "offsets": one.offsets,
        "markers": one.markers,
        "marked": None if one.marked is None else "commit" if one.marked else "abort",
    }


def _time_ns(evidence: Evidence | None, which: str) -> int | None:
    if evidence is None:
        return None
    sent, answered = evidence.sent_ns, evidence.answered_ns
    return (answered or sent) if which == "answered" else sent


def _events(log: ProducerLog) -> Facts:
    return {
        "event_counts": dict(log.counts.most_common()),
        "events": [event._asdict() | {"time": rfc3339(event.time_ns)} for event in log.events],
    }
