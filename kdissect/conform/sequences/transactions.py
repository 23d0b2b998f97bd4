"""Transactions: committed, aborted and fenced, and with the feature transaction.version 2 (KIP-890)."""

from __future__ import annotations

from typing import Any

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import BrokerRun, NoResponseError, entry, first
from kdissect.conform.record_batches import batch
from kdissect.conform.request_bodies import Fields
from kdissect.conform.sequences.suite_topic import coordinator, read_from, records_from, send
from kdissect.model.endpoint import Endpoint
from kdissect.model.wording import plural

_OLD_EPOCH, _FENCED = 47, 90
_FEATURE, _V2 = "transaction.version", 2  # KIP-890
_V1_PRODUCE, _V1_ADD, _V1_END, _V1_INIT = 11, 3, 4, 4


def transactions(run: BrokerRun) -> None:
    """Commit a transaction, abort one, and end one as an old producer."""
    name = run.subject.name("transaction")
    to = coordinator(run, name, 1)
    made = _init(run, name, to)
    if made.error_code:
        run.skipped["transactions"] = f"InitProducerId has error code {made.error_code}"
        return
    producer = made.producer_id, made.producer_epoch
    first_offset = _transaction(run, name, producer, to, 0, commits=True)
    seen = run.until(
        lambda: read_from(run, first_offset, isolation=1)[0],
        lambda body: bool(records_from(entry(body, "responses", "partitions"), first_offset)),
    )
    count = len(records_from(first(seen, "responses", "partitions"), first_offset))
    run.observe(
        "CNF050",
        seen,
        passed=count == 2,
        expected="2 records of the transaction",
        seen=plural(count, "record"),
    )
    second = _transaction(run, name, producer, to, 2, commits=False)
    seen = run.until(
        lambda: read_from(run, second, isolation=1)[0],
        lambda body: getattr(entry(body, "responses", "partitions"), "last_stable_offset", -1) > second,
    )
    partition = first(seen, "responses", "partitions")
    named = {one.producer_id for one in partition.aborted_transactions or ()}
    shown = records_from(partition, second)
    run.observe(
        "CNF051", seen, passed=not shown or made.producer_id in named,
        expected="no record, or the producer among the aborted ones",
        seen=f"{plural(len(shown), 'record')}, {plural(len(named), 'aborted producer')}",
    )  # fmt: skip
    read_from(run, first_offset + 2)  # the marker of the first one: a broker may return a batch at a time
    newer = _init(run, name, to)
    if newer.error_code:
        return
    end = _txn(name, producer) | {"committed": True}
    ended = run.call("EndTxn", end, _capped(run, "EndTxn", _V1_END), to)
    if (newer.producer_id, newer.producer_epoch) == producer:
        run.observe(
            "CNF052", ended, passed=False, expected="a new epoch, with which the old one has an error",
            seen=f"epoch {newer.producer_epoch} of the same producer twice",
        )  # fmt: skip
    else:
        run.errs("CNF052", ended, ended.body.error_code, _OLD_EPOCH, _FENCED)


def transactions_v2(run: BrokerRun) -> None:
    """Commit a transaction whose partitions the broker adds itself, if its features have it (KIP-890)."""
    is_new = run.highest("EndTxn") > _V1_END and run.highest("Produce") > _V1_PRODUCE
    if not is_new or not _has_v2(run):
        run.skipped["transactions v2"] = "the broker does not have the feature transaction.version 2"
        return
    name = run.subject.name("transaction-v2")
    to = coordinator(run, name, 1)
    made = _init(run, name, to)
    if made.error_code:
        run.skipped["transactions v2"] = f"InitProducerId has error code {made.error_code}"
        return
    producer = made.producer_id, made.producer_epoch
    records = batch([(b"k", b"v")], run.subject.time_ms, producer=producer, sequence=0, is_transactional=True)
    stored, partition = send(run, records, transactional_id=name)
    if partition.error_code:
        raise NoResponseError(stored, f"Produce in a transaction has error code {partition.error_code}")
    ended = run.call("EndTxn", _txn(name, producer) | {"committed": True}, to=to)
    body = ended.body
    is_raised = body.producer_id != producer[0] or body.producer_epoch > producer[1]
    run.observe(
        "CNF054", ended, passed=is_raised and not body.error_code,
        expected=f"an epoch above {producer[1]}, or another producer id",
        seen=f"epoch {body.producer_epoch}, error code {body.error_code}",
    )  # fmt: skip


def _has_v2(run: BrokerRun) -> bool:
    answer = run.call("ApiVersions", {"client_software_name": "kdissect", "client_software_version": "1"})
    features = getattr(answer.body, "finalized_features", None) or ()
    return any(one.name == _FEATURE and one.max_version_level >= _V2 for one in features)


def _describe(run: BrokerRun, name: str, producer: tuple[int, int], to: Endpoint) -> None:
    """Describe a transaction while it is open, by its id and by its partition."""
    if run.has("DescribeTransactions"):
        found = run.call("DescribeTransactions", {"transactional_ids": [name]}, to=to)
        row = first(found, "transaction_states")
        _has_producer(run, found, {(row.producer_id, row.producer_epoch)}, producer)
    if run.has("DescribeProducers"):
        body = {"topics": [{"name": run.subject.topic, "partition_indexes": [0]}]}
        found = run.call("DescribeProducers", body, to=run.leader)
        rows = first(found, "topics", "partitions").active_producers
        _has_producer(run, found, {(one.producer_id, one.producer_epoch) for one in rows}, producer)


def _has_producer(
    run: BrokerRun, response: Response, found: set[tuple[int, int]], producer: tuple[int, int]
) -> None:
    run.observe(
        "CNF053", response, passed=producer in found,
        expected=f"producer id {producer[0]}, epoch {producer[1]}",
        seen="it" if producer in found else f"{plural(len(found), 'other producer')}",
    )  # fmt: skip


def _capped(run: BrokerRun, name: str, most: int) -> int:
    return min(run.highest(name), most)


def _txn(name: str, producer: tuple[int, int]) -> Fields:
    return {"transactional_id": name, "producer_id": producer[0], "producer_epoch": producer[1]}


def _init(run: BrokerRun, name: str, to: Endpoint) -> Any:
    body = {"transactional_id": name, "transaction_timeout_ms": 60_000}
    version = _capped(run, "InitProducerId", _V1_INIT)
    return run.call("InitProducerId", body, version, to).body


def _transaction(
    run: BrokerRun, name: str, producer: tuple[int, int], to: Endpoint, sequence: int, *, commits: bool
) -> int:
    """Run a transaction of two records. Returns the offset of the first. Raises NoResponseError."""
    partitions = [{"name": run.subject.topic, "partitions": [0]}]
    add = {f"v3_and_below_{key}": value for key, value in _txn(name, producer).items()}
    add["v3_and_below_topics"] = partitions
    path = "results_by_topic_v3_and_below", "results_by_partition"
    version = _capped(run, "AddPartitionsToTxn", _V1_ADD)
    added = run.call("AddPartitionsToTxn", add, version, to)
    code = first(added, *path).partition_error_code
    if code:
        raise NoResponseError(added, f"AddPartitionsToTxn has error code {code}")
    made = batch(
        [(b"k", b"1"), (b"k", b"2")], run.subject.time_ms, producer=producer, sequence=sequence,
        is_transactional=True,
    )  # fmt: skip
    stored, partition = send(run, made, _capped(run, "Produce", _V1_PRODUCE), name)
    if partition.error_code:
        raise NoResponseError(stored, f"Produce in a transaction has error code {partition.error_code}")
    _describe(run, name, producer, to)
    end = _txn(name, producer) | {"committed": commits}
    ended = run.call("EndTxn", end, _capped(run, "EndTxn", _V1_END), to)
    if ended.body.error_code:
        raise NoResponseError(ended, f"EndTxn has error code {ended.body.error_code}")
    return int(partition.base_offset)
