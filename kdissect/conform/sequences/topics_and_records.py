"""Topics and their records: created, written in each version and codec, read, listed and deleted."""

from __future__ import annotations

from itertools import islice
from typing import Any

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import (
    NONE,
    PRODUCE,
    TOPIC_IDS_FROM,
    BrokerRun,
    NoResponseError,
    entry,
    first,
)
from kdissect.conform.record_batches import Pairs, batch, message_set, with_wrong_checksum
from kdissect.conform.request_bodies import Fields, fetch, records_for
from kdissect.conform.sequences.suite_topic import (
    TIMEOUT_MS,
    UNKNOWN_TOPIC,
    create_topic,
    delete_topic,
    describe_topic,
    existing_topic,
    has_leaders,
    play_each,
    produced,
    read_from,
    records_from,
    send,
    version_pairs,
)
from kdissect.model.record_batch import Codec
from kdissect.model.wording import plural
from kdissect.schema.protocol_messages import API_VERSIONS

_OUT_OF_RANGE, _CORRUPT, _TOPIC_EXISTS, _SEQUENCE_GAP, _DUPLICATE, _UNKNOWN_TOPIC_ID = 1, 2, 36, 45, 46, 100
_EARLIEST, _LATEST = -2, -1
_WAITS = 3  # Fetch requests that wait for records, after which PAI016 judges how long
_WAIT_MS = 250  # of which PAI016 accepts a twentieth as a difference
_NO_AUTO_CREATION_FROM = 4
_ZSTD_PRODUCE, _ZSTD_FETCH, _BATCHES = 7, 10, 3


def topics(run: BrokerRun) -> None:
    """Create, describe, create again and delete a topic, in each version of the requests."""
    play_each(run, "topics", version_pairs(run, "CreateTopics", "DeleteTopics"), _life_of_topic)
    if run.has("CreateTopics") and run.highest("CreateTopics") > 0:
        name = run.subject.name("validated")
        answer = create_topic(run, name, validates=True)
        if not first(answer, "topics").error_code:
            _is_unknown(run, "CNF012", name)


def _life_of_topic(run: BrokerRun, create: int, delete: int) -> None:
    name = run.subject.name(f"topic-{create}-{delete}")
    made = create_topic(run, name, create)
    if not run.errs("CNF010", made, first(made, "topics").error_code, NONE):
        return
    found = existing_topic(run, name)
    count = len(first(found, "topics").partitions)
    run.observe(
        "CNF010", found, passed=has_leaders(found.body) and count == 2,
        expected="2 partitions with leaders", seen=plural(count, "partition"),
    )  # fmt: skip
    again = create_topic(run, name, create)
    run.errs("CNF011", again, first(again, "topics").error_code, _TOPIC_EXISTS)
    deleted = delete_topic(run, name, delete)
    if run.errs("CNF013", deleted, first(deleted, "responses").error_code, NONE):
        _is_unknown(run, "CNF013", name)


def _is_unknown(run: BrokerRun, code: str, name: str) -> None:
    if run.highest("Metadata") < _NO_AUTO_CREATION_FROM:
        return
    found = run.until(
        lambda: describe_topic(run, name),
        lambda body: getattr(entry(body, "topics"), "error_code", NONE) == UNKNOWN_TOPIC,
    )
    run.errs(code, found, first(found, "topics").error_code, UNKNOWN_TOPIC)


def records(run: BrokerRun) -> None:
    """Produce and fetch in each version, and with each codec in the highest version."""
    pairs: Pairs = [(b"key", b"value"), (None, b"value without key"), (b"key without value", None)]
    time_ms = run.subject.time_ms
    versions = [one for one in version_pairs(run, "Produce", "Fetch") if one[0] not in run.refused_produce]

    def trip(run: BrokerRun, produce: int, fetched: int) -> None:
        made = batch(pairs, time_ms) if produce >= _BATCHES else message_set(pairs, time_ms, produce // 2)
        _round_trip(run, made, pairs, produce, fetched)

    play_each(run, "records", versions, trip)
    produce, fetched = run.highest("Produce"), run.highest("Fetch")
    for codec in islice(Codec, 1, None):
        is_zstd = codec is Codec.ZSTD
        if produce >= (_ZSTD_PRODUCE if is_zstd else _BATCHES) and fetched >= (_ZSTD_FETCH if is_zstd else 4):
            many = [(b"%d" % number, b"value" * 20) for number in range(20)]
            _round_trip(run, batch(many, time_ms, codec=codec), many, produce, fetched)


def _round_trip(run: BrokerRun, made: bytes, pairs: Pairs, produce: int, fetched: int) -> None:
    stored, partition = send(run, made, produce)
    if not run.errs("CNF020", stored, partition.error_code, NONE):
        return
    base = partition.base_offset
    response = run.until(
        lambda: read_from(run, base, fetched)[0],
        lambda body: bool(records_from(entry(body, "responses", "partitions"), base)),
    )
    partition = first(response, "responses", "partitions")
    wanted = [(base + number, *pair) for number, pair in enumerate(pairs)]
    got = [(at, _bytes(key), _bytes(value)) for at, key, value in records_from(partition, base)][
        : len(wanted)
    ]
    run.observe(
        "CNF020", response, passed=got == wanted,
        seen=f"{plural(len(got), 'record')}{'' if got == wanted else ', others'}",
        expected=f"{plural(len(wanted), 'record')} as Produce v{produce} stored them",
    )  # fmt: skip


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


def unanswered_records(run: BrokerRun) -> None:
    """Produce with acks=0 in each version, and ask for versions after it."""
    for version in run.versions("Produce"):
        if version in run.refused_produce:
            continue
        body = produced(run.subject, records_for(version, run.subject)) | {"acks": 0}
        connection = run.fresh(run.leader)
        sent = connection.ask(PRODUCE, version, body, waits=False)
        after = connection.ask(API_VERSIONS, 0, {})
        connection.close()
        is_answered = sent.place.ordinal in connection.unasked
        if is_answered or after.is_answered:
            run.observe(
                "CNF028", sent, passed=not is_answered, expected="no response",
                seen="a response" if is_answered else "the response to the next request",
            )  # fmt: skip


def offsets_of_log(run: BrokerRun) -> None:
    """List offsets, fetch at the end and after it, and produce a damaged batch."""
    _, partition = send(run, batch([(b"k", b"v")], run.subject.time_ms))
    end = partition.base_offset + 1
    for version in run.versions("ListOffsets"):
        for time, wanted in ((_EARLIEST, 0), (_LATEST, end)):
            response, part = _listed(run, time, version)
            got = part.offset if version else (list(part.old_style_offsets) or [-1])[0]
            run.observe(
                "CNF021", response, passed=got == wanted and not part.error_code,
                expected=f"offset {wanted}", seen=f"offset {got}, error code {part.error_code}",
            )  # fmt: skip
    _find_by_time(run, end)
    waiting = fetch(run.subject, end) | {"max_wait_ms": _WAIT_MS}
    for _ in range(_WAITS):
        run.call("Fetch", waiting, to=run.leader)
    response, partition = read_from(run, end + 1_000)
    run.errs("CNF022", response, partition.error_code, _OUT_OF_RANGE)
    damaged = with_wrong_checksum(batch([(b"k", b"v")], run.subject.time_ms))
    response, partition = send(run, damaged)
    run.errs("CNF023", response, partition.error_code, _CORRUPT)


def _find_by_time(run: BrokerRun, end: int) -> None:
    """Ask for the first record that is not older than those of the suite."""
    time_ms = run.subject.time_ms
    for version in run.versions("ListOffsets"):
        if version:  # version 0 has the offsets of segments
            response, part = _listed(run, time_ms, version)
            run.observe(
                "CNF027", response, passed=part.timestamp >= time_ms and 0 <= part.offset < end,
                expected=f"a record with the time {time_ms} or later",
                seen=f"offset {part.offset} with the time {part.timestamp}, error code {part.error_code}",
            )  # fmt: skip


def _listed(run: BrokerRun, time_ms: int, version: int | None = None) -> tuple[Response, Any]:
    partitions = [{"partition_index": 0, "timestamp": time_ms}]
    topic = {"name": run.subject.topic, "partitions": partitions}
    body = {"replica_id": -1, "topics": [topic], "timeout_ms": TIMEOUT_MS}
    response = run.call("ListOffsets", body, version, run.leader)
    return response, first(response, "topics", "partitions")


def deleted_records(run: BrokerRun) -> None:
    """Delete the first records of a topic, in each version, and read before them."""
    name, known, leader = run.subject.name("deleted"), run.subject, run.leader
    made = create_topic(run, name)
    topic = first(existing_topic(run, name), "topics")
    if first(made, "topics").error_code or not topic.partitions:
        run.skipped["deleted records"] = f"CreateTopics has error code {first(made, 'topics').error_code}"
        return
    run.subject = known.of_topic(name, getattr(topic, "topic_id", bytes(16)))
    run.leader = run.brokers.get(topic.partitions[0].leader_id, run.address)
    try:
        _delete_records(run)
    finally:
        run.subject, run.leader = known, leader


def _delete_records(run: BrokerRun) -> None:
    versions = run.versions("DeleteRecords")
    pairs = [(b"k", b"v")] * (len(versions) + 1)
    stored = run.until(  # the leader of a new topic may not know yet that it is
        lambda: send(run, batch(pairs, run.subject.time_ms))[0],
        lambda body: not entry(body, "responses", "partition_responses").error_code,
    )
    code = first(stored, "responses", "partition_responses").error_code
    if code:
        raise NoResponseError(stored, f"Produce to a new topic has error code {code}")
    for offset, version in enumerate(versions, 1):
        row = {"name": run.subject.topic, "partitions": [{"partition_index": 0, "offset": offset}]}
        response = run.call("DeleteRecords", {"topics": [row], "timeout_ms": TIMEOUT_MS}, version, run.leader)
        part = first(response, "topics", "partitions")
        run.observe(
            "CNF026", response, passed=part.low_watermark == offset and not part.error_code,
            expected=f"low watermark {offset}",
            seen=f"low watermark {part.low_watermark}, error code {part.error_code}",
        )  # fmt: skip
    response, part = _listed(run, _EARLIEST)
    run.observe(
        "CNF026", response, passed=part.offset == len(versions), expected=f"offset {len(versions)}",
        seen=f"offset {part.offset}",
    )  # fmt: skip
    response, part = read_from(run, 0)
    run.errs("CNF026", response, part.error_code, _OUT_OF_RANGE)


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

    response, partition = send(run, numbered(0))
    if not run.errs("CNF020", response, partition.error_code, NONE):
        return
    again, repeated = send(run, numbered(0))
    is_same = not repeated.error_code and repeated.base_offset == partition.base_offset
    run.observe(
        "CNF024", again, passed=is_same or repeated.error_code == _DUPLICATE,
        expected=f"offset {partition.base_offset} again, or DUPLICATE_SEQUENCE_NUMBER",
        seen=f"offset {repeated.base_offset}, error code {repeated.error_code}",
    )  # fmt: skip
    response, partition = send(run, numbered(10))
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
            response, partition = read_from(run, 0, version)
            _unknown(run, response, "Fetch", partition.error_code)
        for version in run.versions("Produce"):
            if version >= _BATCHES:
                response, partition = send(run, batch([(b"k", b"v")], known.time_ms), version)
                _unknown(run, response, "Produce", partition.error_code)
    finally:
        run.subject = known


def _unknown(run: BrokerRun, response: Response, name: str, code: int) -> None:
    if response.version >= TOPIC_IDS_FROM[name]:
        run.errs("CNF015", response, code, _UNKNOWN_TOPIC_ID)
    else:
        run.errs("CNF014", response, code, UNKNOWN_TOPIC)
