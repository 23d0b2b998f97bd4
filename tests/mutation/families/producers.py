"""Mutators of producers and transactions."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from crc32c import crc32c

from kdissect.session.exchange import Exchange
from tests.mutation.corpus import Scene, recordings, side_of
from tests.mutation.families.authentication import without
from tests.mutation.families.bytes_of_headers import advertised
from tests.mutation.families.histories import before, edited, places
from tests.mutation.families.order_of_lines import shuffled
from tests.mutation.families.values_of_apis import first
from tests.mutation.mutators import MANY, Mutant, changed, edits, mutator
from tests.support.messages.traffic import BROKER, CLIENT

PRODUCE, INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, OFFSETS = 0, 22, 24, 25, 26, 28
# Offsets in a batch of magic 2 (spec/001 "5.3.1 Record Batch").
MAGIC, CRC, ATTRIBUTES, PRODUCER_ID, SEQUENCE, HEAD = 16, 17, 21, 43, 53, 61
TRANSACTIONAL = 0x10
OUT_OF_ORDER_SEQUENCE_NUMBER = 45  # org.apache.kafka.common.protocol.Errors


def number(batch: bytes, at: int, size: int) -> int:
    """Return a field of a batch."""
    return int.from_bytes(batch[at : at + size], signed=True)


def put(batch: bytes, at: int, size: int, value: int) -> bytes:
    """Return a batch with another field, and the checksum that goes with it."""
    changed = batch[:at] + value.to_bytes(size, signed=True) + batch[at + size :]
    return changed[:CRC] + crc32c(changed[ATTRIBUTES:]).to_bytes(4) + changed[ATTRIBUTES:]


def batch_of(request: Any) -> bytes | None:
    """Return the first batch of a Produce request, if it is of magic 2, whole and alone in its partition."""
    row = first(request.topic_data, "partition_data")
    batch = b"" if row is None or row.records is None else bytes(row.records)
    whole = len(batch) > HEAD and batch[MAGIC] == 2 and number(batch, 8, 4) == len(batch) - 12
    return batch if whole else None


def with_batch(request: Any, batch: bytes) -> None:
    """Put another first batch into a Produce request."""
    first(request.topic_data, "partition_data").records = batch


def idempotent(request: Any) -> bytes | None:
    """Return the first batch, if it has a producer id."""
    batch = batch_of(request)
    return batch if batch is not None and number(batch, PRODUCER_ID, 8) >= 0 else None


# producers


@edits(
    "idempotent-with-acks-1",
    "PRD003",
    "an idempotent Produce asks for acks -1",
    ("Produce",),
    versions=range(3, 14),
)
def _acks(value: Any, _: Any) -> bool:
    value.acks = 1
    return idempotent(value) is not None


@edits(
    "producer-id-without-sequence",
    "PRD006",
    "a producer id stands beside a sequence number",
    ("Produce",),
    versions=range(3, 14),
)
def _mixed(value: Any, _: Any) -> bool:
    batch = idempotent(value)
    if batch is not None:
        with_batch(value, put(batch, SEQUENCE, 4, -1))
    return batch is not None


@edits(
    "producer-id-without-epoch",
    "PRD006",
    "a producer id stands beside an epoch",
    ("Produce",),
    versions=range(3, 14),
)
def _no_epoch(value: Any, _: Any) -> bool:
    batch = idempotent(value)
    if batch is not None:
        with_batch(value, put(batch, 51, 2, -1))
    return batch is not None


def _target(value: Any) -> tuple[object, int]:
    topic = value.topic_data[0]
    name = topic.topic_id if hasattr(topic, "topic_id") else topic.name
    return name, topic.partition_data[0].index


def _same_before(scene: Scene) -> bool:
    """Return whether the producer of the scene's batch wrote to its partition before, in the same epoch."""
    body = side_of(scene, CLIENT)
    now = None if body is None else body.value()
    batch = None if now is None else idempotent(now)
    if now is None or batch is None:
        return False
    for earlier in before(scene, PRODUCE, CLIENT):
        old = idempotent(earlier.value())
        same = old is not None and old[PRODUCER_ID:SEQUENCE] == batch[PRODUCER_ID:SEQUENCE]
        if same and _target(earlier.value()) == _target(now):
            return True
    return False


def _sequence(step: int) -> Callable[[Any, Any], bool]:
    def edit(value: Any, _: Any) -> bool:
        batch = idempotent(value)
        assert batch is not None
        with_batch(value, put(batch, SEQUENCE, 4, number(batch, SEQUENCE, 4) + step))
        return True

    return edit


@mutator("sequence-gap", "PRD004", "sequence numbers of a producer go on without a gap", MANY)
def _gap(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, PRODUCE, INIT_PRODUCER_ID):
        if _same_before(scene):
            yield from edited(scene, CLIENT, _sequence(1000))


@mutator("sequence-not-from-zero", "PRD005", "a new epoch begins with sequence 0", MANY)
def _not_from_zero(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, PRODUCE, INIT_PRODUCER_ID, each=9):
        body = side_of(scene, CLIENT)
        batch = None if body is None else idempotent(body.value())
        given = [answer.value() for answer in before(scene, INIT_PRODUCER_ID, BROKER)]
        if batch is None or not given or _same_before(scene) or number(batch, SEQUENCE, 4) != 0:
            continue
        ids = given[-1].producer_id, given[-1].producer_epoch
        if ids == (number(batch, PRODUCER_ID, 8), number(batch, 51, 2)):
            for mutant in edited(scene, CLIENT, _sequence(3)):
                yield from _answered_with(mutant, OUT_OF_ORDER_SEQUENCE_NUMBER)


def _answered_with(mutant: Mutant, error: int) -> Iterator[Mutant]:
    """Yield the broker refuses what was changed."""
    answer = side_of(mutant.scene, BROKER)
    if answer is not None:
        value = answer.value()
        for topic in value.responses:
            for row in topic.partition_responses:
                row.error_code, row.base_offset = error, -1
        yield mutant._replace(talk=mutant.talk.replace(mutant.scene.target, BROKER, answer.encoded(value)))


@mutator("other-transactional-id", "PRD007", "a producer id stays with its transactional id", MANY)
def _other_id(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        batch = idempotent(value)
        value.transactional_id = f"{value.transactional_id}-2"
        return batch is not None and bool(number(batch, ATTRIBUTES, 2) & TRANSACTIONAL)

    for _, scene in places(rng, PRODUCE, INIT_PRODUCER_ID):
        if before(scene, INIT_PRODUCER_ID, BROKER):
            yield from edited(scene, CLIENT, edit)


# transactions

STEPS = (PRODUCE, INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, OFFSETS)


@mutator("broker-version-from-client", "TXN003", "AddPartitionsToTxn v4 is for brokers")
def _brokers(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which a client's v3 says the same in the form of v4."""
    from kdissect.decoders.encoder import encode_request, encode_response

    for _, scene in places(rng, ADD_PARTITIONS, INIT_PRODUCER_ID):
        body, answer = side_of(scene, CLIENT), side_of(scene, BROKER)
        if body is None or answer is None or body.version > 3 or not before(scene, INIT_PRODUCER_ID, CLIENT):
            continue
        ranges = advertised(scene, ADD_PARTITIONS)
        if ranges is not None and ranges[1] < 4:
            continue
        old = body.value()
        one = {
            "transactional_id": old.v3_and_below_transactional_id, "verify_only": False,
            "producer_id": old.v3_and_below_producer_id,
            "producer_epoch": old.v3_and_below_producer_epoch,
            "topics": old.v3_and_below_topics,
        }  # fmt: skip
        result = {
            "transactional_id": old.v3_and_below_transactional_id,
            "topic_results": answer.value().results_by_topic_v3_and_below,
        }
        exchange = scene.exchange
        number_ = exchange.correlation_id or 0
        request = encode_request(ADD_PARTITIONS, 4, number_, exchange.client_id, {"transactions": [one]})
        response = encode_response(ADD_PARTITIONS, 4, number_, {"results_by_transaction": [result]})
        talk = scene.talk().replace(scene.target, CLIENT, request[4:])
        yield Mutant(scene, talk.replace(scene.target, BROKER, response[4:]), scene.target)


def _transactional(scene: Scene) -> bool:
    body = side_of(scene, CLIENT)
    return body is not None and getattr(body.value(), "transactional_id", None) is not None


def _since_last_end(scene: Scene) -> range:
    """Return exchanges before the scene's that belong to its transaction."""
    ends = [n for n in range(scene.target) if scene.exchanges[n].api_key in (END_TXN, INIT_PRODUCER_ID)]
    return range(ends[-1] + 1 if ends else 0, scene.target)


def _joined(scene: Scene, index: int) -> bool:
    """Return whether an exchange began the transaction that the scene's EndTxn ends."""
    exchange, body = scene.exchanges[index], side_of(scene._replace(target=index), CLIENT)
    ending = side_of(scene, CLIENT)
    if exchange.api_key not in (PRODUCE, ADD_PARTITIONS) or body is None or ending is None:
        return False
    value = body.value()
    name = getattr(value, "transactional_id", None) or getattr(value, "v3_and_below_transactional_id", None)
    own = ending.value().transactional_id
    return name == own and exchange.response is not None and not exchange.response_summary().errors


@mutator("partition-not-added", "TXN004", "a partition is added to a transaction before it is written", MANY)
def _not_added(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which AddPartitionsToTxn never took place."""
    for _, scene in places(rng, PRODUCE, *STEPS):
        added = [n for n in _since_last_end(scene) if scene.exchanges[n].api_key == ADD_PARTITIONS]
        if _transactional(scene) and (scene.exchange.api_version or 0) <= 11 and added:
            started = [n for n in range(scene.target) if scene.exchanges[n].api_key == INIT_PRODUCER_ID]
            if started:
                yield Mutant(scene, without(scene.talk(), *added))


@mutator("end-without-begin", "TXN005", "a transaction that was not begun is not ended", MANY)
def _not_begun(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which nothing took place between InitProducerId and the answered EndTxn."""
    for _, scene in places(rng, END_TXN, *STEPS, each=9):
        started = [n for n in range(scene.target) if scene.exchanges[n].api_key == INIT_PRODUCER_ID]
        ended = [n for n in range(scene.target) if scene.exchanges[n].api_key == END_TXN]
        body, answer = side_of(scene, CLIENT), side_of(scene, BROKER)
        # from v5 on a transaction may have begun on any other connection (KIP-890)
        if len(started) == 1 and not ended and body is not None and body.version < 5 and answer is not None:
            steps = [
                n
                for n in range(started[0] + 1, scene.target)
                if scene.exchanges[n].api_key in (*STEPS, OFFSETS)
            ]
            if steps and not answer.value().error_code:
                yield Mutant(scene, without(scene.talk(), *steps), scene.target - len(steps))


@mutator("produced-while-ending", "TXN006", "nothing is produced while a transaction ends", MANY)
def _while_ending(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which EndTxn is sent before the last batch, and answered after it."""
    for _, scene in places(rng, END_TXN, *STEPS, each=9):
        last = scene.target - 1
        if (
            last < 0
            or scene.exchanges[last].api_key != PRODUCE
            or not before(scene, INIT_PRODUCER_ID, CLIENT)
        ):
            continue
        if any(_joined(scene, n) for n in _since_last_end(scene)[:-1]) and _transactional(
            scene._replace(target=last)
        ):
            talk = scene.talk()
            ending, batch = talk.line(scene.target, CLIENT), talk.line(last, CLIENT)
            talk.lines.remove(ending)
            ending.at_ns = batch.at_ns
            talk.lines.insert(talk.lines.index(batch), ending)
            answers = talk.line(scene.target, BROKER), talk.line(last, BROKER)  # in the order of the requests
            answers[0].content, answers[1].content = answers[1].content, answers[0].content
            yield Mutant(scene, talk)


@mutator("other-producer-ends", "TXN007", "requests of a transaction name the producer id given last", MANY)
def _other_producer(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> None:
        value.producer_id += 1

    for key in (END_TXN, ADD_OFFSETS, OFFSETS):
        for _, scene in places(rng, key, *STEPS, each=2):
            given = [answer.value() for answer in before(scene, INIT_PRODUCER_ID, BROKER)]
            if given and not given[-1].error_code:
                yield from edited(scene, CLIENT, edit)


WRITE_MARKERS = 27


def _ended_by(capture: str, producer_id: int) -> tuple[Exchange, ...]:
    """Return the first transaction of a producer id, from InitProducerId to EndTxn, on its own connection."""
    for recording in recordings():
        for index in recording.of(INIT_PRODUCER_ID) if recording.capture == capture else ():
            exchange = recording.exchanges[index]
            if exchange.response is None or exchange.response_body().producer_id != producer_id:
                continue
            ends = [n for n in recording.of(END_TXN) if n > index]
            chosen = [n for n in recording.of(*STEPS) if index <= n <= ends[0]] if ends else []
            return tuple(recording.exchanges[n] for n in chosen)
    return ()


@mutator("marker-says-otherwise", "TXN009", "markers say what EndTxn asked for", MANY)
def _otherwise(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the first marker of a producer says the opposite; the producer's own connection
    is another one.
    """
    for recording in shuffled(rng):
        for index in recording.of(WRITE_MARKERS)[:1]:
            alone = Scene(recording.capture, recording.exchanges[: index + 1], index)
            body = side_of(alone, CLIENT)
            marker = None if body is None else body.value().markers[0]
            other = () if marker is None else _ended_by(recording.capture, marker.producer_id)
            added = any(exchange.api_key == ADD_PARTITIONS for exchange in other)
            if added and other[-1].request_body().committed == marker.transaction_result:
                told = side_of(alone._replace(other=other), CLIENT)
                assert told is not None
                value = told.value()
                value.markers[0].transaction_result = not marker.transaction_result
                yield changed(told, told.encoded(value))
