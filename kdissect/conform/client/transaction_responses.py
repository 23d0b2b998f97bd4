"""Responses to producers: ids, and transactions of both versions (KIP-98, KIP-890)."""

from __future__ import annotations

from typing import Any

from kdissect.conform.client.cluster_state import Body, ClusterState, Producer
from kdissect.conform.client.cluster_topics import OLD_EPOCH
from kdissect.conform.client.exchange_log import Asked
from kdissect.conform.client.group_responses import NOT_COORDINATOR, committed, is_elsewhere

FENCED, BAD_MAPPING = 90, 49
_MAX_PRODUCERS = 1000
_FENCES_FROM = 4  # version of InitProducerId with PRODUCER_FENCED
_NEW_EPOCH_FROM = 5  # version of EndTxn (KIP-890)


def init_producer_id(state: ClusterState, asked: Asked) -> Body:
    """Return the body for InitProducerId. A transactional id keeps its producer id, with a new epoch."""
    name = asked.body.transactional_id
    if name is None:
        return {"producer_id": state.new_producer().id, "producer_epoch": 0}
    if is_elsewhere(state, asked, name):
        return {"error_code": NOT_COORDINATOR}
    known = state.producers.get(name)
    if known is None:
        if len(state.producers) >= _MAX_PRODUCERS:
            return {"error_code": BAD_MAPPING}
        known = state.producers[name] = state.new_producer()
    elif asked.get("producer_epoch", -1) not in (-1, known.epoch):
        return {"error_code": FENCED if asked.version >= _FENCES_FROM else OLD_EPOCH}
    else:
        _end(state, known, is_committed=False)
        known.epoch += 1
    return {"producer_id": known.id, "producer_epoch": known.epoch}


def _producer(state: ClusterState, asked: Asked, name: str, row: Any) -> tuple[Producer | None, int]:
    """Return the producer of a transaction, or the error code."""
    if is_elsewhere(state, asked, name):
        return None, NOT_COORDINATOR
    known = state.producers.get(name)
    number, epoch = row
    if known is None or known.id != number:
        return None, BAD_MAPPING
    return (known, 0) if known.epoch == epoch else (None, FENCED if asked.version > 1 else OLD_EPOCH)


def add_partitions(state: ClusterState, asked: Asked) -> Body:
    """Return the body for AddPartitionsToTxn."""
    rows = asked.get("transactions")
    if rows is None:
        body = asked.body
        whose = body.v3_and_below_producer_id, body.v3_and_below_producer_epoch
        name, topics = body.v3_and_below_transactional_id, body.v3_and_below_topics
        return {"results_by_topic_v3_and_below": _added(state, asked, name, whose, topics)}
    return {
        "results_by_transaction": [
            {
                "transactional_id": row.transactional_id,
                "topic_results": _added(
                    state, asked, row.transactional_id, (row.producer_id, row.producer_epoch), row.topics
                ),
            }
            for row in rows
        ]
    }


def _added(state: ClusterState, asked: Asked, name: str, whose: tuple[int, int], topics: Any) -> list[Body]:
    producer, code = _producer(state, asked, name, whose)
    if producer is not None:
        producer.partitions |= {(str(row.name), index) for row in topics for index in row.partitions}
    return [
        {
            "name": row.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": code} for index in row.partitions
            ],
        }
        for row in topics
    ]


def add_offsets(state: ClusterState, asked: Asked) -> Body:
    """Return the body for AddOffsetsToTxn."""
    body = asked.body
    _, code = _producer(state, asked, body.transactional_id, (body.producer_id, body.producer_epoch))
    return {"error_code": code}


def txn_offset_commit(state: ClusterState, asked: Asked) -> Body:
    """Return the body for TxnOffsetCommit. The offsets count from the end of the transaction on."""
    body = asked.body
    producer, code = _producer(state, asked, body.transactional_id, (body.producer_id, body.producer_epoch))
    into = {} if producer is None else producer.pending
    return {"topics": list(committed(state, asked, code, into))}


def end_txn(state: ClusterState, asked: Asked) -> Body:
    """Return the body for EndTxn."""
    body = asked.body
    producer, code = _producer(state, asked, body.transactional_id, (body.producer_id, body.producer_epoch))
    if producer is None:
        return {"error_code": code}
    _end(state, producer, is_committed=body.committed)
    if asked.version >= _NEW_EPOCH_FROM:
        producer.epoch += 1
    return {"error_code": 0, "producer_id": producer.id, "producer_epoch": producer.epoch}


def _end(state: ClusterState, producer: Producer, *, is_committed: bool) -> None:
    for topic in state.topics.by_name.values():
        for partition in topic.partitions:
            partition.end_transaction((producer.id, producer.epoch), is_committed=is_committed)
    if is_committed:
        state.commits |= producer.pending
    producer.pending = {}
    producer.partitions = set()
    state.changed.notify_all()


HANDLERS = {
    "InitProducerId": init_producer_id,
    "AddPartitionsToTxn": add_partitions,
    "AddOffsetsToTxn": add_offsets,
    "TxnOffsetCommit": txn_offset_commit,
    "EndTxn": end_txn,
}
