"""Transactions without the feature transaction.version 2 (KIP-890): committed, aborted, fenced."""

from __future__ import annotations

from typing import Any

from kdissect.conform.broker_run import BrokerRun, NoResponseError, entry, first
from kdissect.conform.record_batches import batch
from kdissect.conform.request_bodies import Fields
from kdissect.conform.sequences.suite_topic import coordinator, read_from, records_from, send
from kdissect.model.endpoint import Endpoint
from kdissect.model.wording import plural

_OLD_EPOCH, _FENCED = 47, 90
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
    end = _txn(name, producer) | {"committed": commits}
    ended = run.call("EndTxn", end, _capped(run, "EndTxn", _V1_END), to)
    if ended.body.error_code:
        raise NoResponseError(ended, f"EndTxn has error code {ended.body.error_code}")
    return int(partition.base_offset)
