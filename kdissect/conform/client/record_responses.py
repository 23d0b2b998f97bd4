"""Responses about topics and records: Metadata, Produce, Fetch, ListOffsets and others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from kdissect.conform.client.cluster_state import CLUSTER_ID, Body, ClusterState, FetchSession
from kdissect.conform.client.cluster_topics import NODES, OUT_OF_RANGE, Partition, Topic
from kdissect.conform.client.exchange_log import Asked, topic_of

UNKNOWN_TOPIC, NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH, UNKNOWN_TOPIC_ID = 3, 6, 74, 75, 100
SESSION_NOT_FOUND, BAD_SESSION_EPOCH = 70, 71
_EARLIEST = (-2, -4)  # and the earliest that is local (KIP-405)
_MAX_TIMESTAMP = -3
_MAX_WAIT_S = 5.0
_MAX_SESSIONS = 1000
_READ_COMMITTED = 1


def metadata(state: ClusterState, asked: Asked) -> Body:
    """Return the body for Metadata. Topics that a client names exist from then on."""
    rows = asked.get("topics")
    if rows is None or (not rows and asked.version == 0):
        topics: Iterable[tuple[Any, Topic | None]] = [(None, one) for one in state.topics.by_name.values()]
    else:
        topics = [(row, _named(state, row)) for row in rows]
    return {
        "brokers": state.brokers(), "cluster_id": CLUSTER_ID, "controller_id": NODES[0],
        "topics": [_topic_row(row, topic) for row, topic in topics],
    }  # fmt: skip


def _named(state: ClusterState, row: Any) -> Topic | None:
    name = getattr(row, "name", None)
    return state.topics.named(str(name)) if name else state.topics.with_id(getattr(row, "topic_id", b""))


def _topic_row(row: Any, topic: Topic | None) -> Body:
    if topic is None:
        topic_id = getattr(row, "topic_id", bytes(16))
        code = UNKNOWN_TOPIC_ID if any(topic_id) else UNKNOWN_TOPIC
        return {"error_code": code, "name": getattr(row, "name", None), "topic_id": topic_id}
    parts = [
        {
            "partition_index": index, "leader_id": one.leader, "leader_epoch": one.epoch,
            "replica_nodes": list(NODES), "isr_nodes": list(NODES),
        }
        for index, one in enumerate(topic.partitions)
    ]  # fmt: skip
    return {"name": topic.name, "topic_id": topic.id, "partitions": parts}


def described_partitions(state: ClusterState, asked: Asked) -> Body:
    """Return the body for DescribeTopicPartitions."""
    return {"topics": [_topic_row(row, _named(state, row)) for row in asked.get("topics", ())]}


def found(state: ClusterState, row: Any, index: int) -> tuple[Partition | None, int]:
    """Return the partition that a request names, and the error code without it."""
    key = topic_of(row)
    is_id = isinstance(key, bytes)
    topic = state.topics.with_id(key) if is_id else state.topics.named(str(key)) if key else None
    if topic is None:
        return None, UNKNOWN_TOPIC_ID if is_id else UNKNOWN_TOPIC
    if not 0 <= index < len(topic.partitions):
        return None, UNKNOWN_TOPIC
    return topic.partitions[index], 0


def _led(state: ClusterState, node: int, row: Any, index: int, epoch: int) -> tuple[Partition | None, int]:
    """Return a partition that the node leads in that epoch, or the error code."""
    partition, code = found(state, row, index)
    if partition is None or code:
        return None, code
    if partition.leader != node:
        return None, NOT_LEADER
    if 0 <= epoch != partition.epoch:
        return None, FENCED_EPOCH if epoch < partition.epoch else UNKNOWN_EPOCH
    return partition, 0


def produce(state: ClusterState, asked: Asked) -> Body | None:
    """Return the body for Produce, None if the client wants no response."""
    topics = []
    for row in asked.body.topic_data:
        parts = []
        for part in row.partition_data:
            partition, code = _led(state, asked.node, row, part.index, -1)
            base = -1
            if partition is not None:
                stored = partition.write(bytes(part.records or b""))
                code, base = stored
            parts.append({
                "index": part.index, "error_code": code, "base_offset": base,
                "log_start_offset": -1 if partition is None else partition.start,
            })  # fmt: skip
        topics.append({**_topic_key(row), "partition_responses": parts})
    state.changed.notify_all()
    return {"responses": topics} if asked.body.acks else None


def _topic_key(row: Any) -> Body:
    key = topic_of(row)
    return {"topic_id": key} if isinstance(key, bytes) else {"name": key, "topic": key}


def fetch(state: ClusterState, asked: Asked) -> Body:
    """Return the body for Fetch. At the end of a log it waits, and the log has a record more afterwards."""
    session, code = _session(state, asked)
    if code:
        return {"error_code": code, "responses": []}
    wanted = _partitions(asked) if session is None else session.partitions
    deadline = time.monotonic() + min(max(asked.body.max_wait_ms, 0) / 1000, _MAX_WAIT_S)
    while True:
        rows = [(row, part, _read(state, asked, row, part)) for row, part in wanted.values()]
        left = deadline - time.monotonic()
        has_something = any(read["records"] or read["error_code"] for _, _, read in rows)
        if has_something or left <= 0 or state.is_over():
            break
        state.changed.wait(left)
    if not has_something and not state.is_over():
        _add_records(state, asked, wanted)
    is_whole = session is None or asked.body.session_epoch == 0
    shown = [row for row in rows if is_whole or row[2]["records"] or row[2]["error_code"]]
    return {"session_id": session.id if session else 0, "responses": _by_topic(shown)}


def _partitions(asked: Asked) -> dict[tuple[Any, int], Any]:
    return {
        (topic_of(row), part.partition): (row, part) for row in asked.body.topics for part in row.partitions
    }


def _session(state: ClusterState, asked: Asked) -> tuple[FetchSession | None, int]:
    """Return the session of a Fetch request, with its changes, or the error code."""
    number, epoch = asked.get("session_id", 0), asked.get("session_epoch", -1)
    if not state.has_sessions or epoch < 0:
        state.sessions.pop(number, None)
        return None, 0 if epoch <= 0 else SESSION_NOT_FOUND
    if epoch == 0:
        state.sessions.pop(number, None)
        if len(state.sessions) >= _MAX_SESSIONS:
            return None, 0
        session = FetchSession(asked.number + 1)
        state.sessions[session.id] = session
    else:
        known = state.sessions.get(number)
        if known is None:
            return None, SESSION_NOT_FOUND
        if known.epoch != epoch:
            return None, BAD_SESSION_EPOCH
        known.epoch += 1
        session = known
    for row in asked.get("forgotten_topics_data", ()):
        for index in row.partitions:
            session.partitions.pop((topic_of(row), index), None)
    session.partitions |= _partitions(asked)
    return session, 0


def _read(state: ClusterState, asked: Asked, row: Any, part: Any) -> Body:
    epoch = getattr(part, "current_leader_epoch", -1)
    partition, code = _led(state, asked.node, row, part.partition, epoch)
    body: Body = {
        "partition_index": part.partition, "error_code": code, "high_watermark": -1, "records": b"",
        "aborted_transactions": None,
    }  # fmt: skip
    if partition is None:
        return body
    offset = part.fetch_offset
    body |= {
        "high_watermark": partition.end, "last_stable_offset": partition.stable_end,
        "log_start_offset": partition.start,
    }  # fmt: skip
    if not partition.start <= offset <= partition.end:
        return body | {"error_code": OUT_OF_RANGE, "high_watermark": -1}
    is_committed = asked.get("isolation_level", 0) == _READ_COMMITTED
    end = partition.stable_end if is_committed else partition.end
    body["records"] = partition.read(offset, part.partition_max_bytes, end)
    if is_committed:
        body["aborted_transactions"] = [
            {"producer_id": producer, "first_offset": first}
            for producer, first, last in partition.aborted
            if last >= offset
        ]
    return body


def _add_records(state: ClusterState, asked: Asked, wanted: dict[tuple[Any, int], Any]) -> None:
    for row, part in wanted.values():
        partition, _ = _led(state, asked.node, row, part.partition, -1)
        if partition is not None and part.fetch_offset == partition.end:
            partition.add_record()


def _by_topic(rows: list[tuple[Any, Any, Body]]) -> list[Body]:
    topics: dict[Any, Body] = {}
    for row, _, read in rows:
        topics.setdefault(topic_of(row), {**_topic_key(row), "partitions": []})["partitions"].append(read)
    return list(topics.values())


def _of_partitions(
    state: ClusterState, asked: Asked, topic: str, index: str, result: Callable[[Any, Partition], Body]
) -> Body:
    """Return the results of all partitions that the node leads, and errors of the others. `topic` and `index`
    are the fields that name them.
    """
    topics = []
    for row in asked.body.topics:
        parts = []
        for part in row.partitions:
            number, epoch = getattr(part, index), getattr(part, "current_leader_epoch", -1)
            partition, code = _led(state, asked.node, row, number, epoch)
            body: Body = {index: number, "error_code": code}
            parts.append(body if partition is None else body | result(part, partition))
        topics.append({topic: getattr(row, topic), "partitions": parts})
    return {"topics": topics}


def list_offsets(state: ClusterState, asked: Asked) -> Body:
    """Return the body for ListOffsets."""

    def result(part: Any, partition: Partition) -> Body:
        offset = _offset_at(partition, part.timestamp)
        return {"offset": offset, "old_style_offsets": [offset], "leader_epoch": partition.epoch}

    return _of_partitions(state, asked, "name", "partition_index", result)


def _offset_at(partition: Partition, timestamp: int) -> int:
    if timestamp in _EARLIEST:
        return partition.start
    if timestamp == _MAX_TIMESTAMP:
        return max(partition.end - 1, partition.start)
    return partition.end if timestamp < 0 else partition.start


def epoch_ends(state: ClusterState, asked: Asked) -> Body:
    """Return the body for OffsetForLeaderEpoch: no epoch ended before the end of the log."""

    def result(part: Any, partition: Partition) -> Body:
        is_known = 0 <= part.leader_epoch <= partition.epoch
        return {
            "leader_epoch": part.leader_epoch if is_known else -1,
            "end_offset": partition.end if is_known else -1,
        }

    return _of_partitions(state, asked, "topic", "partition", result)


HANDLERS = {
    "Produce": produce,
    "Fetch": fetch,
    "ListOffsets": list_offsets,
    "Metadata": metadata,
    "OffsetForLeaderEpoch": epoch_ends,
    "DescribeTopicPartitions": described_partitions,
}
