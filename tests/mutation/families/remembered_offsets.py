"""Mutators of what brokers say of records, and of what they gave before: offsets, sessions, producers."""

import random
from collections.abc import Iterator
from typing import Any

from kdissect.decoders.encoder import encode_request, encode_response
from tests.mutation.corpus import Scene, side_of
from tests.mutation.families.batches import (
    HEAD,
    LEADER_EPOCH,
    MAGIC,
    PRODUCER_ID,
    codec,
    is_whole,
    number,
    sealed,
)
from tests.mutation.families.histories import SHARE_ACKNOWLEDGE, SHARE_FETCH, before, edited, places, sequence
from tests.mutation.families.newer_histories import FETCH
from tests.mutation.families.order_of_lines import SECOND
from tests.mutation.families.producers import (
    ADD_OFFSETS,
    END_TXN,
    INIT_PRODUCER_ID,
    OFFSETS,
    PRODUCE,
    STEPS,
    idempotent,
)
from tests.mutation.families.values_of_apis import first
from tests.mutation.mutators import MANY, Mutant, changed, edits, mutator
from tests.mutation.record import join, split
from tests.mutation.talk import Talk
from tests.support.messages.traffic import BROKER, CLIENT

SHARING = (SHARE_FETCH, SHARE_ACKNOWLEDGE)
NOT_LEADER = 6
WAIT_NS = SECOND // 2


def _with_records(value: Any) -> Any:
    """Return the first partition that brings records, or None."""
    rows = [row for topic in value.responses for row in topic.partitions]
    return next((row for row in rows if row.records and not row.error_code), None)


@edits(
    "records-beside-error",
    "FET019",
    "a partition with an error has no records",
    ("Fetch", "ShareFetch"),
    BROKER,
)
def _beside_error(value: Any, _: Any) -> bool:
    row = _with_records(value)
    if row is not None:
        row.error_code = NOT_LEADER
    return row is not None


@edits(
    "records-beside-replica", "FET020", "who is sent to another replica gets no records", ("Fetch",), BROKER,
    versions=range(11, 20),
)  # fmt: skip
def _beside_replica(value: Any, _: Any) -> bool:
    row = _with_records(value)
    if row is not None:
        row.preferred_read_replica = 2
    return row is not None


@edits(
    "aborted-for-uncommitted", "FET021", "who reads uncommitted records is told of none aborted", ("Fetch",),
    BROKER, versions=range(4, 20),
)  # fmt: skip
def _aborted(value: Any, asked: Any) -> bool:
    row = _with_records(value)
    if row is not None:
        row.aborted_transactions = [{"producer_id": 1, "first_offset": 0}]
    return row is not None and not asked.isolation_level


@sequence(
    "other-session-answered", "FET022", "a fetch is answered in its session", FETCH, side=BROKER, oldest=7
)
def _other_session(value: Any, asked: Any) -> bool:
    value.session_id += 11
    return asked.session_epoch > 0 and value.session_id > 11 and not value.error_code


@mutator("never-acquired", "FET023", "a member acknowledges what it was given")
def _never_acquired(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        for topic in value.topics:
            for row in topic.partitions:
                for batch in row.acknowledgement_batches[-1:]:
                    batch.first_offset += 5_000
                    batch.last_offset += 5_000
                    return True
        return False

    for key in SHARING:
        for _, scene in places(rng, key, *SHARING, each=30):
            yield from edited(scene, CLIENT, edit)


@edits("acquired-beyond-records", "FET024", "what is acquired is in the answer", ("ShareFetch",), BROKER)
def _beyond_records(value: Any, _: Any) -> bool:
    row = _with_records(value)
    for held in row.acquired_records[-1:] if row is not None else ():
        held.last_offset += 500
        return True
    return False


@mutator("throttle-of-wait", "PAI016", "the throttle time is not the wait for records")
def _throttle_of_wait(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which three empty answers come after half a second, and say so."""
    for _, scene in places(rng, FETCH, each=1, oldest=8):
        found = [side_of(scene._replace(target=n), BROKER) for n in range(scene.target + 1)]
        empty = [
            body for body in found if body is not None and body.api.key == FETCH and body.version >= 8
            and not any(row.records for topic in body.value().responses for row in topic.partitions)
        ][-3:]  # fmt: skip
        talk = scene.talk()
        asked = [talk.line(body.scene.target, CLIENT) for body in empty]
        is_last = len(empty) == 3 and empty[-1].scene.target == scene.target
        if not is_last or any(
            one.side == two.side for one, two in zip(talk.lines, talk.lines[1:], strict=False)
        ):
            continue  # others are under way meanwhile
        for body, line in zip(empty, asked, strict=True):
            value, at = body.value(), talk.lines.index(line)
            value.throttle_time_ms = WAIT_NS // 1_000_000
            answer = talk.line(body.scene.target, BROKER)
            answer.content = body.encoded(value)
            late = line.at_ns + WAIT_NS - answer.at_ns
            for other in talk.lines[at + 1 :]:
                other.at_ns += late
        yield Mutant(scene, talk, scene.target)


@edits("no-producer-id", "PRD011", "InitProducerId gives an id", ("InitProducerId",), BROKER)
def _no_id(value: Any, _: Any) -> bool:
    value.producer_id = -1
    return not value.error_code


@mutator("producer-id-given-twice", "PRD013", "a producer id is given once", MANY)
def _given_twice(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the connection gave the same id before: InitProducerId is asked twice, with the
    same answer.
    """
    for _, scene in places(rng, INIT_PRODUCER_ID):
        answer = side_of(scene, BROKER)
        if answer is None or answer.value().error_code or answer.value().producer_epoch:
            continue
        yield Mutant(scene, again_with_same_answer(scene), scene.target + 1)


def again_with_same_answer(scene: Scene) -> Talk:
    """Return a talk in which the scene's request is sent again, and answered in the same way."""
    talk = scene.talk()
    asked, told = (talk.line(scene.target, side) for side in (CLIENT, BROKER))
    again, number = told.at_ns + SECOND, (1 << 30).to_bytes(4)
    content = asked.content[:4] + number + asked.content[8:]
    talk.lines.append(asked.copy(content=content, at_ns=again, exchange=scene.target + 1))
    content = number + told.content[4:]
    talk.lines.append(told.copy(content=content, at_ns=again + SECOND, exchange=scene.target + 1))
    return talk


@mutator("epoch-not-raised", "PRD015", "InitProducerId raises the epoch of a producer id")
def _not_raised(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which InitProducerId is asked twice for a transactional id, with the same answer."""
    for _, scene in places(rng, INIT_PRODUCER_ID):
        asked, answer = side_of(scene, CLIENT), side_of(scene, BROKER)
        if asked is None or answer is None or answer.value().error_code or not answer.value().producer_epoch:
            continue
        if asked.value().transactional_id is not None and getattr(asked.value(), "producer_id", -1) < 0:
            talk = again_with_same_answer(scene)
            yield Mutant(scene, talk, scene.target + 1)


@mutator("old-epoch-taken", "TXN010", "a coordinator refuses epochs that are lower than the one it gave")
def _old_epoch(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which InitProducerId gave an epoch that is higher by seven."""
    for key in (END_TXN, ADD_OFFSETS):
        for _, scene in places(rng, key, *STEPS):
            given, body = before(scene, INIT_PRODUCER_ID, BROKER), side_of(scene, CLIENT)
            answer = side_of(scene, BROKER)
            if not given or body is None or answer is None or answer.value().error_code:
                continue
            value = given[-1].value()
            if value.error_code or value.producer_id != body.value().producer_id:
                continue
            value.producer_epoch = body.value().producer_epoch + 7
            talk = scene.talk().replace(given[-1].scene.target, BROKER, given[-1].encoded(value))
            yield Mutant(scene, talk)


@mutator("offsets-before-added", "TXN011", "a group is added before its offsets are committed")
def _not_added(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which AddOffsetsToTxn named another group."""
    for _, scene in places(rng, OFFSETS, *STEPS):
        added, body = before(scene, ADD_OFFSETS, CLIENT), side_of(scene, CLIENT)
        given = [answer.value().producer_id for answer in before(scene, INIT_PRODUCER_ID, BROKER)]
        if not added or body is None or body.version > 4 or body.value().producer_id not in given:
            continue
        talk = scene.talk()
        for found in added:
            value = found.value()
            value.group_id += "-other"
            talk.replace(found.scene.target, CLIENT, found.encoded(value))
        yield Mutant(scene, talk)  # the first commit of the group says it


@mutator("high-watermark-back", "FET025", "a high watermark does not go back", MANY)
def _high_back(rng: random.Random) -> Iterator[Mutant]:
    yield from _offset_back(rng, "high_watermark")


@mutator("log-start-back", "FET025", "a log start does not go back")
def _start_back(rng: random.Random) -> Iterator[Mutant]:
    yield from _offset_back(rng, "log_start_offset")


def _offset_back(rng: random.Random, field: str) -> Iterator[Mutant]:
    """Yield an answer before one with higher offsets; of topics with ids, for a name may be that of a new
    one.
    """
    for _, scene in places(rng, FETCH, each=20, oldest=13):
        now, asked = side_of(scene, BROKER), side_of(scene, CLIENT)
        if now is None or asked is None or asked.value().session_epoch <= 0:
            continue
        told = _partitions(now.value())
        forgets = [each.scene.target for each in before(scene, FETCH, CLIENT) if _forgets(each.value())]
        for body in reversed(before(scene, FETCH, BROKER)):
            value = body.value()
            rows = _partitions(value)
            both = [name for name, row in rows.items() if name in told and getattr(told[name], field) >= 0]
            if value.session_id != now.value().session_id or value.error_code or not both:
                continue
            if any(target > body.scene.target for target in forgets):
                continue  # of a partition that comes back nothing is known
            setattr(rows[both[0]], field, getattr(told[both[0]], field) + 1000)
            yield Mutant(scene, scene.talk().replace(body.scene.target, BROKER, body.encoded(value)))
            break


@mutator(
    "epoch-beyond-session", "FET030", "no batch has a higher epoch than its fetch session asks for", MANY
)
def _epoch_beyond_session(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the partition is one that an earlier request named with a leader epoch."""
    for _, scene in places(rng, FETCH, each=20, oldest=9):
        now, asked = side_of(scene, BROKER), side_of(scene, CLIENT)
        if now is None or asked is None or asked.value().session_epoch <= 0:
            continue
        epochs: dict[tuple[Any, int], int] = {}
        for body in before(scene, FETCH, CLIENT):
            request = body.value()
            if request.session_epoch == 0:
                epochs.clear()
            epochs |= _epochs(request)
            for topic in request.forgotten_topics_data:
                for index in topic.partitions:
                    epochs.pop((_identity(topic), index), None)
        answer, named = now.value(), _epochs(asked.value())
        for partition, row in _partitions(answer).items():
            known = epochs.get(partition, -1)
            batch = bytes(row.records or b"")
            if known >= 0 and partition not in named and is_whole(batch):
                row.records = batch[:LEADER_EPOCH] + (known + 5).to_bytes(4) + batch[MAGIC:]
                yield Mutant(scene, scene.talk().replace(scene.target, BROKER, now.encoded(answer)))
                break


def _identity(topic: Any) -> Any:
    return topic.topic_id if hasattr(topic, "topic_id") else topic.topic


def _epochs(request: Any) -> dict[tuple[Any, int], int]:
    """Return the leader epochs that a request names, by topic and partition."""
    return {
        (_identity(topic), row.partition): row.current_leader_epoch
        for topic in request.topics
        for row in topic.partitions
    }


@mutator("other-value-fetched", "FET031", "a broker gives out the records that it took", MANY)
def _other_value(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the connection fetches what it produced: a batch whose first record has another
    value.
    """
    for _, scene in places(rng, PRODUCE, oldest=3):
        sent, answer = side_of(scene, CLIENT), side_of(scene, BROKER)
        found = None if sent is None or answer is None else _stored(sent.value(), answer.value())
        if found is None or sent is None:
            continue
        topic, partition, batch = found
        if number(batch, PRODUCER_ID, 8) < 0 or codec(batch):
            continue
        records = split(batch[HEAD:])
        if not records or not records[0].value:
            continue
        records[0].value = bytes((records[0].value[0] ^ 1,)) + records[0].value[1:]
        version = 13 if isinstance(topic, bytes) else 11
        name = {"topic_id" if isinstance(topic, bytes) else "topic": topic}
        asked = {"session_epoch": -1, "topics": [name | {"partitions": [{"partition": partition}]}]}
        row = {
            "partition_index": partition,
            "records": sealed(batch[:HEAD] + join(records)),
            "high_watermark": 1 << 40,
        }
        told = {"session_id": 0, "responses": [name | {"partitions": [row | {"aborted_transactions": None}]}]}
        talk, correlation_id = scene.talk(), 1 << 30
        line, behind = talk.line(scene.target, CLIENT), talk.line(scene.target, BROKER)
        at, client_id = behind.at_ns + SECOND, scene.exchange.client_id
        request = encode_request(
            FETCH, version, correlation_id, client_id, asked | {"forgotten_topics_data": []}
        )
        talk.lines.append(line.copy(content=request[4:], at_ns=at, exchange=scene.target + 1))
        response = encode_response(FETCH, version, correlation_id, told)
        talk.lines.append(behind.copy(content=response[4:], at_ns=at + SECOND, exchange=scene.target + 1))
        yield Mutant(scene, talk, scene.target + 1)


def _stored(request: Any, answer: Any) -> tuple[Any, int, bytes] | None:
    """Return the topic, partition and batch of a Produce with one, at the offset that the answer gives."""
    rows = [(topic, row) for topic in request.topic_data for row in topic.partition_data]
    told = [row for topic in answer.responses for row in topic.partition_responses]
    if len(rows) != 1 or len(told) != 1 or told[0].error_code or told[0].base_offset < 0:
        return None
    topic, row = rows[0]
    batch = bytes(row.records or b"")
    if not is_whole(batch):
        return None
    name = topic.topic_id if hasattr(topic, "topic_id") else topic.name
    return name, row.index, told[0].base_offset.to_bytes(8) + batch[8:]


def _forgets(asked: Any) -> bool:
    return bool(asked.forgotten_topics_data)


def _partitions(answer: Any) -> dict[tuple[Any, int], Any]:
    """Return partitions without an error, by topic and number."""
    return {
        (topic.topic_id if hasattr(topic, "topic_id") else topic.topic, row.partition_index): row
        for topic in answer.responses
        for row in topic.partitions
        if not row.error_code
    }


_BEHIND_EPOCH = PRODUCER_ID + 10  # an int64 and an int16


@mutator("offset-given-before", "PRD012", "a new batch is given offsets behind the last", MANY)
def _given_before(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, PRODUCE, INIT_PRODUCER_ID, each=9):
        body, asked = side_of(scene, BROKER), side_of(scene, CLIENT)
        batch = None if asked is None else idempotent(asked.value())
        earlier, asked_earlier = before(scene, PRODUCE, BROKER), before(scene, PRODUCE, CLIENT)
        if body is None or asked is None or batch is None or not earlier or asked.value().acks != -1:
            continue
        sent = idempotent(asked_earlier[-1].value()) if asked_earlier else None
        if sent is None or sent[PRODUCER_ID:_BEHIND_EPOCH] != batch[PRODUCER_ID:_BEHIND_EPOCH]:
            continue  # of a producer that was fenced nothing is expected
        value, last = body.value(), earlier[-1].value()
        row, old = (first(answer.responses, "partition_responses") for answer in (value, last))
        if row is None or old is None or (_topic(value), row.index) != (_topic(last), old.index):
            continue
        if isinstance(_topic(value), str):
            continue  # a name may be that of a new topic
        if not row.error_code and not old.error_code and row.base_offset > old.base_offset >= 0:
            row.base_offset = old.base_offset
            yield changed(body, body.encoded(value))


def _topic(answer: Any) -> Any:
    topic = answer.responses[0]
    return topic.topic_id if hasattr(topic, "topic_id") else topic.name
