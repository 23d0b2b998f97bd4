"""Sequences of requests: topics, records, producers, offsets, groups, transactions, and what brokers refuse.

A sequence uses names of the suite only. It ends where the broker does not respond, and the run goes on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from kdissect.conform.broker_connection import Outcome, Response, framed, request_header
from kdissect.conform.broker_run import (
    METADATA,
    NONE,
    TOPIC_IDS_FROM,
    BrokerRun,
    NoResponseError,
    entry,
    errors_of,
    first,
    key_of,
)
from kdissect.conform.record_batches import Pairs, batch, message_set, with_wrong_checksum
from kdissect.conform.request_bodies import Fields, fetch, subscription
from kdissect.decoders.encoder import encode
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import iter_records
from kdissect.model.endpoint import Endpoint
from kdissect.model.record_batch import Codec
from kdissect.model.wording import plural
from kdissect.schema import protocol_messages
from kdissect.schema.protocol_messages import API_VERSIONS

OUT_OF_RANGE, CORRUPT, UNKNOWN_TOPIC = 1, 2, 3
_ILLEGAL_GENERATION, _UNKNOWN_MEMBER, _UNSUPPORTED_VERSION = 22, 25, 35
_TOPIC_EXISTS, _SEQUENCE_GAP, _DUPLICATE, _OLD_EPOCH, _FENCED = 36, 45, 46, 47, 90
_MEMBER_ID_REQUIRED, _UNKNOWN_TOPIC_ID = 79, 100
_EARLIEST, _LATEST = -2, -1
_TIMEOUT_MS = 10_000
# Of transactions without the feature transaction.version 2 (KIP-890).
_V1_PRODUCE, _V1_ADD, _V1_END, _V1_INIT = 11, 3, 4, 4
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NO_AUTO_CREATION_FROM = 4
_NO_SUCH_API = 32_000
_LAST_PORT = 65_535
_ZSTD_PRODUCE, _ZSTD_FETCH, _BATCHES = 7, 10, 3
_MANY_COORDINATORS, _MANY_GROUPS = 4, 8  # versions of FindCoordinator (KIP-699) and OffsetFetch (KIP-709)


def prepare(run: BrokerRun) -> None:
    """Find the brokers and create the topic of the suite. Raises NoResponseError."""
    run.subject.topic = run.subject.name("topic")
    described = run.call("Metadata", {"topics": None} if run.highest("Metadata") else {"topics": []})
    run.subject.cluster_id = getattr(described.body, "cluster_id", None)
    nodes = {row.node_id: endpoint_of(run, row) for row in described.body.brokers}
    run.brokers = {node: address for node, address in nodes.items() if address is not None}
    run.controller = getattr(described.body, "controller_id", -1)
    if run.has("CreateTopics"):
        _create(run, run.subject.topic)
    found = _existing(run, run.subject.topic, may_create=not run.has("CreateTopics"))
    topic = first(found, "topics")
    run.subject.topic_id = getattr(topic, "topic_id", bytes(16))
    leader = topic.partitions[0].leader_id if topic.partitions else -1
    run.leader = run.brokers.get(leader, run.address)


def endpoint_of(run: BrokerRun, row: Any) -> Endpoint | None:
    """Return the address of a node; None if the user did not name its host: kdissect connects to no other."""
    host = str(row.host)
    is_named = host == run.address.host or {host, run.address.host} <= {*_LOOPBACK}
    return Endpoint(host, row.port) if is_named and 0 < row.port <= _LAST_PORT else None


def _create(run: BrokerRun, name: str, version: int | None = None, *, validates: bool = False) -> Response:
    topic = {"name": name, "num_partitions": 2, "replication_factor": 1, "assignments": [], "configs": []}
    body = {"topics": [topic], "timeout_ms": _TIMEOUT_MS, "validate_only": validates}
    if not validates:
        run.created.append(name)
    return run.call("CreateTopics", body, version, run.brokers.get(run.controller))


def _describe(run: BrokerRun, name: str, *, may_create: bool = False) -> Response:
    return run.call("Metadata", {"topics": [{"name": name}], "allow_auto_topic_creation": may_create})


def _existing(run: BrokerRun, name: str, *, may_create: bool = False) -> Response:
    """Return Metadata when the topic has leaders, or the last one."""
    return run.until(lambda: _describe(run, name, may_create=may_create), _has_leaders)


def _has_leaders(body: Any) -> bool:
    topics = body.topics
    return bool(topics) and not topics[0].error_code and all(
        one.leader_id >= 0 for one in topics[0].partitions
    )  # fmt: skip


def _delete(run: BrokerRun, name: str, version: int | None = None) -> Response:
    body = {"topics": [{"name": name}], "topic_names": [name], "timeout_ms": _TIMEOUT_MS}
    return run.call("DeleteTopics", body, version, run.brokers.get(run.controller))


def topics(run: BrokerRun) -> None:
    """Create, describe, create again and delete a topic, in each version of the requests."""
    _each(run, "topics", _pairs(run, "CreateTopics", "DeleteTopics"), _life_of_topic)
    if run.has("CreateTopics") and run.highest("CreateTopics") > 0:
        name = run.subject.name("validated")
        answer = _create(run, name, validates=True)
        if not first(answer, "topics").error_code:
            _is_unknown(run, "CNF012", name)


def _life_of_topic(run: BrokerRun, create: int, delete: int) -> None:
    name = run.subject.name(f"topic-{create}-{delete}")
    made = _create(run, name, create)
    if not run.errs("CNF010", made, first(made, "topics").error_code, NONE):
        return
    found = _existing(run, name)
    count = len(first(found, "topics").partitions)
    run.observe(
        "CNF010", found, passed=_has_leaders(found.body) and count == 2,
        expected="2 partitions with leaders", seen=plural(count, "partition"),
    )  # fmt: skip
    again = _create(run, name, create)
    run.errs("CNF011", again, first(again, "topics").error_code, _TOPIC_EXISTS)
    deleted = _delete(run, name, delete)
    if run.errs("CNF013", deleted, first(deleted, "responses").error_code, NONE):
        _is_unknown(run, "CNF013", name)


def _is_unknown(run: BrokerRun, code: str, name: str) -> None:
    if run.highest("Metadata") < _NO_AUTO_CREATION_FROM:
        return
    found = run.until(
        lambda: _describe(run, name),
        lambda body: getattr(entry(body, "topics"), "error_code", NONE) == UNKNOWN_TOPIC,
    )
    run.errs(code, found, first(found, "topics").error_code, UNKNOWN_TOPIC)


def _pairs(run: BrokerRun, one: str, other: str) -> Iterator[tuple[int, int]]:
    """Yield versions of two APIs together until each version of both occurred."""
    first_ones, second = run.versions(one), run.versions(other)
    if not first_ones or not second:
        return
    for at in range(max(len(first_ones), len(second))):
        yield first_ones[min(at, len(first_ones) - 1)], second[min(at, len(second) - 1)]


def _each(run: BrokerRun, name: str, versions: Iterable[Sequence[int]], play: Callable[..., None]) -> None:
    """Play a part of a sequence with each set of versions. A part that ends early costs no other part."""
    for each in versions:
        try:
            play(run, *each)
        except NoResponseError as error:
            run.skipped[f"{name} with versions {', '.join(map(str, each))}"] = str(error)


def _send(
    run: BrokerRun, records: bytes, version: int | None = None, transactional_id: str | None = None,
    **other: Any,
) -> tuple[Response, Any]:  # fmt: skip
    """Produce to the first partition. Returns the response and what it contains about the partition."""
    subject = run.subject
    topic = {"name": subject.topic, "topic_id": subject.topic_id, **other}
    body = {
        "transactional_id": transactional_id, "acks": -1, "timeout_ms": _TIMEOUT_MS,
        "topic_data": [topic | {"partition_data": [{"index": 0, "records": records}]}],
    }  # fmt: skip
    response = run.call("Produce", body, version, run.leader)
    return response, first(response, "responses", "partition_responses")


def _fetched(run: BrokerRun, offset: int, version: int | None = None, isolation: int = 0) -> tuple[
    Response, Any
]:  # fmt: skip
    """Fetch from the first partition. Returns the response and what it contains about the partition."""
    body = fetch(run.subject, offset, isolation)
    response = run.call("Fetch", body, version, run.leader)
    return response, first(response, "responses", "partitions")


def _found(partition: Any, offset: int) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of data records from an offset on, none without a partition."""
    data = bytes(getattr(partition, "records", None) or b"")
    found = []
    for one in split_batches(data, 0, len(data), may_be_cut=True).batches:
        if not one.is_control:
            found += [(each.offset, each.key, each.value) for each in iter_records(one, [])]
    return [row for row in found if row[0] >= offset]


def records(run: BrokerRun) -> None:
    """Produce and fetch in each version, and with each codec in the highest version."""
    pairs: Pairs = [(b"key", b"value"), (None, b"value without key"), (b"key without value", None)]
    time_ms = run.subject.time_ms
    versions = [one for one in _pairs(run, "Produce", "Fetch") if one[0] not in run.refused_produce]

    def trip(run: BrokerRun, produce: int, fetched: int) -> None:
        made = batch(pairs, time_ms) if produce >= _BATCHES else message_set(pairs, time_ms, produce // 2)
        _round_trip(run, made, pairs, produce, fetched)

    _each(run, "records", versions, trip)
    produce, fetched = run.highest("Produce"), run.highest("Fetch")
    for codec in islice(Codec, 1, None):
        is_zstd = codec is Codec.ZSTD
        if produce >= (_ZSTD_PRODUCE if is_zstd else _BATCHES) and fetched >= (_ZSTD_FETCH if is_zstd else 4):
            many = [(b"%d" % number, b"value" * 20) for number in range(20)]
            _round_trip(run, batch(many, time_ms, codec=codec), many, produce, fetched)


def _round_trip(run: BrokerRun, made: bytes, pairs: Pairs, produce: int, fetched: int) -> None:
    stored, partition = _send(run, made, produce)
    if not run.errs("CNF020", stored, partition.error_code, NONE):
        return
    base = partition.base_offset
    response = run.until(
        lambda: _fetched(run, base, fetched)[0],
        lambda body: bool(_found(entry(body, "responses", "partitions"), base)),
    )
    partition = first(response, "responses", "partitions")
    wanted = [(base + number, *pair) for number, pair in enumerate(pairs)]
    got = [(at, _bytes(key), _bytes(value)) for at, key, value in _found(partition, base)][: len(wanted)]
    run.observe(
        "CNF020", response, passed=got == wanted,
        seen=f"{plural(len(got), 'record')}{'' if got == wanted else ', others'}",
        expected=f"{plural(len(wanted), 'record')} as Produce v{produce} stored them",
    )  # fmt: skip


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


def offsets_of_log(run: BrokerRun) -> None:
    """List offsets, fetch after the end, and produce a damaged batch."""
    _, partition = _send(run, batch([(b"k", b"v")], run.subject.time_ms))
    end = partition.base_offset + 1
    for version in run.versions("ListOffsets"):
        for time, wanted in ((_EARLIEST, 0), (_LATEST, end)):
            topic = {"name": run.subject.topic, "partitions": [{"partition_index": 0, "timestamp": time}]}
            body = {"replica_id": -1, "topics": [topic], "timeout_ms": _TIMEOUT_MS}
            response = run.call("ListOffsets", body, version, run.leader)
            part = first(response, "topics", "partitions")
            got = part.offset if version else (list(part.old_style_offsets) or [-1])[0]
            run.observe(
                "CNF021", response, passed=got == wanted and not part.error_code,
                expected=f"offset {wanted}", seen=f"offset {got}, error code {part.error_code}",
            )  # fmt: skip
    response, partition = _fetched(run, end + 1_000)
    run.errs("CNF022", response, partition.error_code, OUT_OF_RANGE)
    damaged = with_wrong_checksum(batch([(b"k", b"v")], run.subject.time_ms))
    response, partition = _send(run, damaged)
    run.errs("CNF023", response, partition.error_code, CORRUPT)


def idempotence(run: BrokerRun) -> None:
    """Send a batch of an idempotent producer twice, and one after a gap."""
    made = run.call("InitProducerId", {"transactional_id": None, "transaction_timeout_ms": 60_000}).body
    if made.error_code:
        run.skipped["idempotence"] = f"InitProducerId has error code {made.error_code}"
        return
    producer = made.producer_id, made.producer_epoch
    pairs: Pairs = [(b"k", b"1"), (b"k", b"2")]

    def numbered(sequence: int) -> bytes:
        return batch(pairs, run.subject.time_ms, producer=producer, sequence=sequence)

    response, partition = _send(run, numbered(0))
    if not run.errs("CNF020", response, partition.error_code, NONE):
        return
    again, repeated = _send(run, numbered(0))
    is_same = not repeated.error_code and repeated.base_offset == partition.base_offset
    run.observe(
        "CNF024", again, passed=is_same or repeated.error_code == _DUPLICATE,
        expected=f"offset {partition.base_offset} again, or DUPLICATE_SEQUENCE_NUMBER",
        seen=f"offset {repeated.base_offset}, error code {repeated.error_code}",
    )  # fmt: skip
    response, partition = _send(run, numbered(10))
    run.errs("CNF025", response, partition.error_code, _SEQUENCE_GAP)


def unknown_topics(run: BrokerRun) -> None:
    """Ask for a topic that does not exist, by name and by id."""
    name, known = run.subject.name("no-topic"), run.subject
    for version in run.versions("Metadata"):
        if version >= _NO_AUTO_CREATION_FROM:
            body: Fields = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
            response = run.call("Metadata", body, version)
            run.errs("CNF014", response, first(response, "topics").error_code, UNKNOWN_TOPIC)
    run.subject = known.of_topic(name, b"kdissect-conform")
    try:
        for version in run.versions("Fetch"):
            response, partition = _fetched(run, 0, version)
            _unknown(run, response, "Fetch", partition.error_code)
        for version in run.versions("Produce"):
            if version >= _BATCHES:
                response, partition = _send(run, batch([(b"k", b"v")], known.time_ms), version)
                _unknown(run, response, "Produce", partition.error_code)
    finally:
        run.subject = known


def _unknown(run: BrokerRun, response: Response, name: str, code: int) -> None:
    if response.version >= TOPIC_IDS_FROM[name]:
        run.errs("CNF015", response, code, _UNKNOWN_TOPIC_ID)
    else:
        run.errs("CNF014", response, code, UNKNOWN_TOPIC)


def _coordinator(run: BrokerRun, key: str, key_type: int = 0) -> Endpoint:
    """Return the coordinator of a group or transactional id. Raises NoResponseError."""
    body = {"key": key, "key_type": key_type, "coordinator_keys": [key]}

    path = ("coordinators",) if run.highest("FindCoordinator") >= _MANY_COORDINATORS else ()
    response = run.call("FindCoordinator", body)
    row = first(response, *path)
    if row.error_code:
        raise NoResponseError(response, f"FindCoordinator has error code {row.error_code}")
    address = endpoint_of(run, row)
    if address is None:
        raise NoResponseError(response, f"the coordinator is at {row.host}:{row.port}, which is not named")
    return address


def committed_offsets(run: BrokerRun) -> None:
    """Commit an offset and fetch it, in each version."""
    _each(run, "committed offsets", _pairs(run, "OffsetCommit", "OffsetFetch"), _committed_offset)


def _committed_offset(run: BrokerRun, commit: int, fetched: int) -> None:
    group = run.subject.name(f"offsets-{commit}-{fetched}")
    run.groups.append(group)
    to = _coordinator(run, group)
    topic = {"name": run.subject.topic, "topic_id": run.subject.topic_id}
    none = _fetch_offset(run, group, topic, fetched, to)
    run.observe(
        "CNF031", none[0], passed=none[1].committed_offset == -1, expected="offset -1",
        seen=f"offset {none[1].committed_offset}",
    )  # fmt: skip
    part = {"partition_index": 0, "committed_offset": 7, "committed_metadata": "kdissect"}
    body = {
        "group_id": group, "generation_id_or_member_epoch": -1, "member_id": "",
        "topics": [topic | {"partitions": [part]}],
    }  # fmt: skip
    stored = run.call("OffsetCommit", body, commit, to)
    code = first(stored, "topics", "partitions").error_code
    if commit == 0 and code:
        return  # version 0 stores offsets in ZooKeeper, and there may be none
    if not run.errs("CNF030", stored, code, NONE):
        return
    response, kept = _fetch_offset(run, group, topic, fetched, to)
    # Apache Kafka has no place for metadata in ZooKeeper, where version 0 stores the offset.
    is_same = kept.committed_offset == 7 and (kept.metadata == "kdissect" or commit == 0)
    run.observe(
        "CNF030", response, passed=is_same,
        expected=f"offset 7 with metadata, as OffsetCommit v{commit} stored it",
        seen=f"offset {kept.committed_offset}, metadata of {plural(len(kept.metadata or ''), 'character')}",
    )  # fmt: skip


def _fetch_offset(
    run: BrokerRun, group: str, topic: Fields, version: int, to: Endpoint
) -> tuple[Response, Any]:
    topics = [topic | {"partition_indexes": [0]}]
    body = {"group_id": group, "topics": topics, "groups": [{"group_id": group, "topics": topics}]}
    response = run.call("OffsetFetch", body, version, to)
    path = ("topics", "partitions") if version < _MANY_GROUPS else ("groups", "topics", "partitions")
    return response, first(response, *path)


def classic_groups(run: BrokerRun) -> None:
    """Join, synchronize, heartbeat and leave, in each version."""
    names = "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"
    ranges = [run.versions(name) for name in names]
    versions = [[one[min(at, len(one) - 1)] for one in ranges] for at in range(max(map(len, ranges)))]
    _each(run, "classic groups", versions, _classic_group)


def _classic_group(run: BrokerRun, join: int, sync: int, heartbeat: int, leave: int) -> None:
    group = run.subject.name(f"classic-{join}")
    run.groups.append(group)
    to = _coordinator(run, group)
    joining = {
        "group_id": group, "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription(run.subject.topic)}],
    }  # fmt: skip
    joined = run.call("JoinGroup", joining, join, to)
    if join >= 4:
        is_required = joined.body.error_code == _MEMBER_ID_REQUIRED and bool(joined.body.member_id)
        run.observe(
            "CNF040", joined, passed=is_required, expected="MEMBER_ID_REQUIRED and a member id",
            seen=f"error code {joined.body.error_code}",
        )  # fmt: skip
    if joined.body.error_code == _MEMBER_ID_REQUIRED:
        joined = run.call("JoinGroup", joining | {"member_id": joined.body.member_id}, join, to)
    if joined.body.error_code:
        run.skipped[f"classic group, JoinGroup v{join}"] = f"error code {joined.body.error_code}"
        return
    generation, member = joined.body.generation_id, joined.body.member_id
    who: Fields = {"group_id": group, "generation_id": generation, "member_id": member}
    assignment = assignment_of(run.subject.topic)
    synced = run.call("SyncGroup", who | {
        "protocol_type": "consumer", "protocol_name": "range",
        "assignments": [{"member_id": member, "assignment": assignment}],
    }, sync, to)  # fmt: skip
    run.observe(
        "CNF041", synced, passed=not synced.body.error_code and bytes(synced.body.assignment) == assignment,
        expected=f"{plural(len(assignment), 'byte')} of the leader",
        seen=f"{plural(len(synced.body.assignment or b''), 'byte')}, error code {synced.body.error_code}",
    )  # fmt: skip
    alive = run.call("Heartbeat", who, heartbeat, to)
    run.errs("CNF042", alive, alive.body.error_code, NONE)
    other = run.call("Heartbeat", who | {"generation_id": generation + 1}, heartbeat, to)
    run.errs("CNF043", other, other.body.error_code, _ILLEGAL_GENERATION)
    left = run.call("LeaveGroup", who | {"members": [{"member_id": member}]}, leave, to)
    if not left.body.error_code:
        gone = run.call("Heartbeat", who, heartbeat, to)
        run.errs("CNF044", gone, gone.body.error_code, _UNKNOWN_MEMBER)


def assignment_of(topic: str) -> bytes:
    """Return an assignment of the first partition, version 0."""
    name = topic.encode()
    return b"\0\0" + struct.pack(">ih", 1, len(name)) + name + struct.pack(">iii", 1, 0, 0)


def transactions(run: BrokerRun) -> None:
    """Commit a transaction, abort one, and end one as an old producer."""
    name = run.subject.name("transaction")
    to = _coordinator(run, name, 1)
    made = _init(run, name, to)
    if made.error_code:
        run.skipped["transactions"] = f"InitProducerId has error code {made.error_code}"
        return
    producer = made.producer_id, made.producer_epoch
    first_offset = _transaction(run, name, producer, to, 0, commits=True)
    seen = run.until(
        lambda: _fetched(run, first_offset, isolation=1)[0],
        lambda body: bool(_found(entry(body, "responses", "partitions"), first_offset)),
    )
    count = len(_found(first(seen, "responses", "partitions"), first_offset))
    run.observe(
        "CNF050",
        seen,
        passed=count == 2,
        expected="2 records of the transaction",
        seen=plural(count, "record"),
    )
    second = _transaction(run, name, producer, to, 2, commits=False)
    seen = run.until(
        lambda: _fetched(run, second, isolation=1)[0],
        lambda body: getattr(entry(body, "responses", "partitions"), "last_stable_offset", -1) > second,
    )
    partition = first(seen, "responses", "partitions")
    named = {one.producer_id for one in partition.aborted_transactions or ()}
    shown = _found(partition, second)
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
    stored, partition = _send(run, made, _capped(run, "Produce", _V1_PRODUCE), name)
    if partition.error_code:
        raise NoResponseError(stored, f"Produce in a transaction has error code {partition.error_code}")
    end = _txn(name, producer) | {"committed": commits}
    ended = run.call("EndTxn", end, _capped(run, "EndTxn", _V1_END), to)
    if ended.body.error_code:
        raise NoResponseError(ended, f"EndTxn has error code {ended.body.error_code}")
    return int(partition.base_offset)


def refusals(run: BrokerRun) -> None:
    """Send what a broker refuses, each on a connection of its own."""
    for name in ("Metadata", "FindCoordinator", "ListOffsets"):
        if run.has(name):
            key, version = key_of(name), run.highest(name) + 1
            _refused(run, "CNF060", _unknown_frame(key, version), key, version)
    _refused(run, "CNF061", _unknown_frame(_NO_SUCH_API, 0), _NO_SUCH_API, 0)
    for size in (-1, 0x7FFFFFFF):
        _refused(run, "CNF062", _frame_of_size(size), METADATA, 0)
    if run.has("Metadata"):
        _refused(run, "CNF063", _short_frame(run), METADATA, run.highest("Metadata"))


def _refused(run: BrokerRun, code: str, frame: Callable[[int], bytes], key: int, version: int) -> None:
    connection = run.fresh()
    before = connection.ask(API_VERSIONS, 0, {})
    response = connection.send(frame(connection.next_id), key, version) if before.is_answered else before
    connection.close()
    if response is before:
        return
    if response.outcome is not Outcome.UNDECODABLE:
        passed = response.outcome is Outcome.CLOSED
        if response.is_answered:
            passed = bool(errors_of(response.body))
        run.observe(
            code, response, passed=passed, expected="the broker closes the connection, or an error",
            seen=response.text,
        )  # fmt: skip
    served = run.ask_alone(API_VERSIONS, 0)
    run.observe(
        "CNF064", served, passed=served.is_answered, expected="a response on another connection",
        seen=served.text,
    )  # fmt: skip


def _unknown_frame(key: int, version: int) -> Callable[[int], bytes]:
    def frame(number: int) -> bytes:
        return framed(struct.pack(">hhih", key, version, number, -1) + b"\0" + bytes(8))

    return frame


def _frame_of_size(size: int) -> Callable[[int], bytes]:
    return lambda number: struct.pack(">ihhi", size, METADATA, 0, number)


def _short_frame(run: BrokerRun) -> Callable[[int], bytes]:
    version = run.highest("Metadata")
    message = protocol_messages.request_message(METADATA)
    assert message is not None
    name = run.subject.name("topic")
    body = encode(message, version, {"topics": [{"name": name}]})[: len(name) // 2]

    def frame(number: int) -> bytes:
        return framed(request_header(METADATA, version, number, None, {}) + body)

    return frame


SEQUENCES: dict[str, tuple[Callable[[BrokerRun], None], tuple[str, ...]]] = {
    "topics": (topics, ("CreateTopics", "DeleteTopics")),
    "records": (records, ("Produce", "Fetch")),
    "offsets of the log": (offsets_of_log, ("Produce", "Fetch", "ListOffsets")),
    "idempotence": (idempotence, ("Produce", "InitProducerId")),
    "unknown topics": (unknown_topics, ("Produce", "Fetch")),
    "committed offsets": (committed_offsets, ("FindCoordinator", "OffsetCommit", "OffsetFetch")),
    "classic groups": (
        classic_groups, ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    ),
    "transactions": (
        transactions,
        ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn", "Produce", "Fetch"),
    ),
}  # fmt: skip
"""Sequences by name, with the APIs that each needs."""


def clean_up(run: BrokerRun) -> None:
    """Delete what the run created. A deletion that fails costs no other one."""
    _delete_all(run, "DeleteTopics", run.created, lambda name: _delete(run, name))
    _delete_all(
        run, "DeleteGroups", run.groups,
        lambda name: run.call("DeleteGroups", {"groups_names": [name]}, to=_coordinator(run, name)),
    )  # fmt: skip


def _delete_all(run: BrokerRun, api: str, names: Sequence[str], delete: Callable[[str], Response]) -> None:
    if not run.has(api):
        return
    for name in names:
        if run.is_given_up(key_of(api)):
            return
        try:
            delete(name)
        except NoResponseError as error:
            run.skipped[f"cleaning up with {api}"] = str(error)
