"""Mutators of record batches: what producers send and consumers are given."""

import gzip
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import zstandard
from crc32c import crc32c

from tests.mutation.corpus import Side, side_of, sides_of
from tests.mutation.mutators import MANY, SOME, Mutant, changed, mutator, spread
from tests.mutation.record import Plain, split
from tests.support.messages.batches import message_bytes
from tests.support.messages.traffic import BROKER, CLIENT

FETCH = 1
# Offsets in a batch of magic 2 (spec/001 "5.3.1 Record Batch"); magic stands there in every format.
LENGTH, LEADER_EPOCH, MAGIC, CRC, ATTRIBUTES, LAST_DELTA, BASE_TIME, MAX_TIME = 8, 12, 16, 17, 21, 23, 27, 35
PRODUCER_ID, COUNT, HEAD = 43, 57, 61
# Of a message of magic 0 or 1 (spec/001 "5.3.3 Old Message Format").
OLD_CRC, OLD_ATTRIBUTES, OLD_TIME = 12, 17, 18
GZIP, LZ4, ZSTD = 1, 3, 4
APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 8, 0x10, 0x20, 0x40


def number(batch: bytes, at: int, size: int) -> int:
    """Return a field of a batch."""
    return int.from_bytes(batch[at : at + size], signed=True)


def sealed(batch: bytes) -> bytes:
    """Return a batch of magic 2 with the length and checksum of its bytes."""
    length = (len(batch) - LEADER_EPOCH).to_bytes(4)
    return (
        batch[:LENGTH]
        + length
        + batch[LEADER_EPOCH:CRC]
        + crc32c(batch[ATTRIBUTES:]).to_bytes(4)
        + batch[ATTRIBUTES:]
    )


def put(batch: bytes, at: int, size: int, value: int) -> bytes:
    """Return a batch of magic 2 with another field, sealed."""
    return sealed(batch[:at] + value.to_bytes(size, signed=True) + batch[at + size :])


def flagged(batch: bytes, bits: int) -> bytes:
    """Return a batch of magic 2 with further bits in its attributes."""
    return put(batch, ATTRIBUTES, 2, number(batch, ATTRIBUTES, 2) | bits)


def codec(batch: bytes) -> int:
    """Return the codec of a batch of magic 2."""
    return batch[ATTRIBUTES + 1] & 7


def is_whole(data: bytes, magic: int = 2) -> bool:
    """Return whether a records field is one batch (magic 2) or message (0, 1) and nothing else."""
    return len(data) > 26 and data[MAGIC] == magic and number(data, LENGTH, 4) == len(data) - LEADER_EPOCH


def records_of(batch: bytes) -> list[Plain] | None:
    """Return the records of a batch of magic 2 that is not compressed, or with gzip; None of others."""
    if not is_whole(batch) or codec(batch) > GZIP:
        return None
    content = batch[HEAD:] if codec(batch) == 0 else gzip.decompress(batch[HEAD:])
    return split(content)


def with_content(batch: bytes, content: bytes) -> bytes:
    """Return a batch of magic 2 with other records, compressed as before, sealed."""
    return sealed(batch[:HEAD] + (content if codec(batch) == 0 else gzip.compress(content, mtime=0)))


class Held(NamedTuple):
    """A records field that holds something, in a body."""

    body: Side
    topic: int
    partition: int
    data: bytes

    def mutant(self, data: bytes) -> Mutant:
        """Return the exchange with other records."""
        value = self.body.value()
        _rows(value)[self.topic][1][self.partition].records = data
        return changed(self.body, self.body.encoded(value))


def _rows(value: Any) -> list[tuple[Any, Any]]:
    topics = getattr(value, "topic_data", None)
    if topics is not None:
        return [(topic, topic.partition_data) for topic in topics]
    return [(topic, topic.partitions) for topic in value.responses]


def held_in(body: Side) -> Iterator[Held]:
    """Yield the records fields of a body that hold something."""
    for at, (_, rows) in enumerate(_rows(body.value())):
        for index, row in enumerate(rows):
            if row.records:
                yield Held(body, at, index, bytes(row.records))


PRODUCED, FETCHED = ("Produce", CLIENT), ("Fetch", BROKER)
Change = Callable[[bytes, random.Random], bytes | None]


def batches(
    name: str, owner: str, says: str, *messages: tuple[str, int], magic: int = 2, limit: int = SOME,
    versions: range = range(100),
) -> Callable[[Change], Change]:  # fmt: skip
    """Register a function that changes a records field of one batch; None where it has nothing to change."""

    def register(change: Change) -> Change:
        def make(rng: random.Random) -> Iterator[Mutant]:
            for body in spread([b for m in messages for b in sides_of(*m) if b.version in versions], rng):
                for held in held_in(body):
                    if not is_whole(held.data, magic):
                        continue
                    data = change(held.data, rng)
                    if data is not None and data != held.data:
                        yield held.mutant(data)
                        break

        mutator(name, owner, says, limit)(make)
        return change

    return register


BOTH = PRODUCED, FETCHED


# batches


@batches("batch-length-20", "REC001", "a batch's length is 49 at least", *BOTH)
def _length(batch: bytes, rng: random.Random) -> bytes:
    return batch[:LENGTH] + rng.randrange(49).to_bytes(4) + batch[LEADER_EPOCH:]


@batches("batch-cut", "REC002", "records to be stored end with a whole batch", PRODUCED)
def _cut(batch: bytes, rng: random.Random) -> bytes:
    return batch[: rng.randrange(HEAD, len(batch))]


@batches("magic-3", "REC003", "magic is 0, 1 or 2", *BOTH)
def _magic(batch: bytes, rng: random.Random) -> bytes:
    return batch[:MAGIC] + bytes((rng.randrange(3, 128),)) + batch[CRC:]


@batches("checksum", "REC004", "the checksum is that of the bytes", *BOTH, limit=MANY)
def _crc(batch: bytes, rng: random.Random) -> bytes:
    return batch[:CRC] + bytes((batch[CRC] ^ 1,)) + batch[CRC + 1 :]


@batches("bit-of-a-record", "REC004", "the checksum is that of the bytes", *BOTH, limit=MANY)
def _bit(batch: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(ATTRIBUTES, len(batch))
    return batch[:at] + bytes((batch[at] ^ 1 << rng.randrange(8),)) + batch[at + 1 :]


@batches("old-checksum", "REC004", "the checksum is that of the bytes", *BOTH, magic=1)
def _old_crc(message: bytes, rng: random.Random) -> bytes:
    return message[:OLD_CRC] + bytes((message[OLD_CRC] ^ 1,)) + message[OLD_CRC + 1 :]


@batches("garbled-compression", "REC005", "records decompress with their codec", *BOTH, limit=MANY)
def _garbled(batch: bytes, rng: random.Random) -> bytes | None:
    return None if codec(batch) == 0 else sealed(batch[:HEAD] + bytes(len(batch) - HEAD))


@batches("other-codec", "REC005", "records decompress with their codec", *BOTH)
def _codec(batch: bytes, rng: random.Random) -> bytes | None:
    other = {1: 3, 2: 3, 3: 1, 4: 1}.get(codec(batch))  # not zstd, which needs a new version
    return None if other is None else put(batch, ATTRIBUTES, 2, number(batch, ATTRIBUTES, 2) & ~7 | other)


@batches("codec-6", "REC019", "a codec is 0 to 4", *BOTH)
def _unknown_codec(batch: bytes, rng: random.Random) -> bytes:
    return put(batch, ATTRIBUTES, 2, number(batch, ATTRIBUTES, 2) & ~7 | rng.randrange(5, 8))


@batches("reserved-bits", "REC020", "bits 7 to 15 of the attributes are 0", *BOTH)
def _reserved(batch: bytes, rng: random.Random) -> bytes:
    return flagged(batch, 1 << rng.randrange(7, 15))


@batches(
    "last-delta-too-high", "REC021", "in a Produce the last offset delta is the count less one", PRODUCED
)
def _last_delta(batch: bytes, rng: random.Random) -> bytes:
    return put(batch, LAST_DELTA, 4, number(batch, LAST_DELTA, 4) + 3)


@batches("last-delta-too-low", "REC021", "the last offset delta is the count less one at least", *BOTH)
def _low_delta(batch: bytes, rng: random.Random) -> bytes | None:
    return put(batch, LAST_DELTA, 4, 0) if number(batch, COUNT, 4) > 1 else None


@batches("no-count", "REC021", "a produced batch holds a record", PRODUCED)
def _no_count(batch: bytes, rng: random.Random) -> bytes:
    return put(batch, COUNT, 4, 0)


@batches("base-offset-1000", "REC022", "a produced batch begins at offset 0", PRODUCED)
def _base_offset(batch: bytes, rng: random.Random) -> bytes:
    return put(batch, 0, 8, 1000)


@batches("append-time-produced", "REC023", "a producer does not set log append time", PRODUCED)
def _append_time(batch: bytes, rng: random.Random) -> bytes:
    return flagged(batch, APPEND_TIME)


@batches("control-batch-produced", "REC024", "clients produce no control batches", PRODUCED)
def _control(batch: bytes, rng: random.Random) -> bytes:
    return flagged(batch, CONTROL)


@batches("delete-horizon-produced", "REC025", "a producer does not set the delete horizon", PRODUCED)
def _horizon(batch: bytes, rng: random.Random) -> bytes:
    return flagged(batch, DELETE_HORIZON)


@batches("transactional-without-id", "REC026", "a transactional batch has a producer id", PRODUCED)
def _no_producer(batch: bytes, rng: random.Random) -> bytes | None:
    return flagged(batch, TRANSACTIONAL) if number(batch, PRODUCER_ID, 8) == -1 else None


@batches("max-timestamp-late", "REC033", "the maximum timestamp is that of the latest record", *BOTH)
def _max_time(batch: bytes, rng: random.Random) -> bytes | None:
    if number(batch, ATTRIBUTES, 2) & (APPEND_TIME | CONTROL):
        return None
    return put(batch, MAX_TIME, 8, number(batch, MAX_TIME, 8) + 1000)


@batches("old-magic-produced", "REC013", "Produce v3 carries magic 2", PRODUCED, versions=range(3, 100))
def _old_magic(batch: bytes, rng: random.Random) -> bytes:
    return message_bytes(b"value", magic=rng.randrange(2))


@batches(
    "two-batches", "REC016", "a partition in Produce v3 holds one batch", PRODUCED, versions=range(3, 100)
)
def _two(batch: bytes, rng: random.Random) -> bytes | None:
    return batch + batch if number(batch, PRODUCER_ID, 8) == -1 else None


@batches("batch-again", "REC027", "offsets rise from batch to batch", FETCHED)
def _again(batch: bytes, rng: random.Random) -> bytes:
    return batch + batch


@batches("epoch-back", "REC043", "leader epochs do not go back from batch to batch", FETCHED)
def _epoch_back(batch: bytes, rng: random.Random) -> bytes:
    """Return the same batch after it, of the epoch before."""
    epoch, behind = number(batch, 12, 4), number(batch, 0, 8) + number(batch, 23, 4) + 1
    later = behind.to_bytes(8) + batch[8:12] + max(0, epoch).to_bytes(4) + batch[16:]
    return batch[:12] + (max(0, epoch) + 1).to_bytes(4) + batch[16:] + later


@mutator("epoch-beyond-leader", "REC044", "no batch has a higher epoch than the leader that gives it")
def _epoch_beyond_leader(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(list(sides_of(*FETCHED)), rng):
        asked = side_of(body.scene, CLIENT)
        epochs = {} if asked is None else _epochs(asked.value())
        for held in held_in(body):
            topic, rows = _rows(body.value())[held.topic]
            known = epochs.get((_identity(topic), rows[held.partition].partition_index), -1)
            if known >= 0 and is_whole(held.data):
                yield held.mutant(held.data[:LEADER_EPOCH] + (known + 5).to_bytes(4) + held.data[MAGIC:])
                break


def _identity(topic: Any) -> object:
    return getattr(topic, "topic_id", None) or topic.topic


def _epochs(request: Any) -> dict[tuple[object, int], int]:
    """Return the leader epoch that a Fetch names for each partition, if its version has one."""
    return {
        (_identity(topic), row.partition): getattr(row, "current_leader_epoch", -1)
        for topic in request.topics
        for row in topic.partitions
    }


def _zstd(batch: bytes, rng: random.Random) -> bytes | None:
    if codec(batch):
        return None
    squeezed = sealed(batch[:HEAD] + zstandard.compress(batch[HEAD:]))
    return flagged(squeezed, ZSTD)


batches("zstd-produced-too-early", "REC017", "zstd needs Produce v7", PRODUCED, versions=range(3, 7))(_zstd)
batches("zstd-fetched-too-early", "REC018", "zstd needs Fetch v10", FETCHED, versions=range(4, 10))(_zstd)


def _newer(rng: random.Random, message: tuple[str, int], versions: range) -> Iterator[Mutant]:
    """Old versions that carry a batch of magic 2."""
    held = [h.data for b in sides_of(*message) if b.version > 3 for h in held_in(b) if is_whole(h.data)]
    newer = [data for data in held if number(data, ATTRIBUTES, 2) < ZSTD and number(data, PRODUCER_ID, 8) < 0]
    for body in spread([b for b in sides_of(*message) if b.version in versions], rng):
        for held in held_in(body):
            yield held.mutant(rng.choice(newer))
            break


@mutator("new-magic-produced", "REC014", "Produce v2 carries magic 1 at most")
def _new_magic(rng: random.Random) -> Iterator[Mutant]:
    yield from _newer(rng, PRODUCED, range(3))


@mutator("new-magic-fetched", "REC015", "Fetch v3 is answered with magic 1 at most")
def _new_fetched(rng: random.Random) -> Iterator[Mutant]:
    for mutant in _newer(rng, FETCHED, range(4)):
        asked = side_of(mutant.scene, CLIENT)
        if asked is not None and asked.value().replica_id < 0:
            yield mutant


@mutator("before-the-fetch-offset", "REC028", "the first batch of a Fetch reaches the offset asked for")
def _before(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the request asks for an offset far after the answered one."""
    for body in spread(sides_of("Fetch", CLIENT), rng):
        answer = side_of(body.scene, BROKER)
        if answer is None or not any(held_in(answer)):
            continue
        value = body.value()
        rows = [row for topic in value.topics for row in topic.partitions]
        if not rows:
            continue
        for row in rows:
            row.fetch_offset = 1_000_000
        yield Mutant(body.scene, body.talk(body.encoded(value)), body.scene.target, BROKER)


@mutator(
    "transactional-without-name", "REC026", "a transactional batch has a transactional id in its request"
)
def _no_name(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(sides_of("Produce", CLIENT), rng):
        value = body.value()
        transactional = [
            h for h in held_in(body) if is_whole(h.data) and h.data[ATTRIBUTES + 1] & TRANSACTIONAL
        ]
        if transactional and value.transactional_id is not None:
            value.transactional_id = None
            yield changed(body, body.encoded(value))
