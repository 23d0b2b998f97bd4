"""Mutators of record batches and records: what producers send and consumers are given."""

import gzip
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lz4.frame
import zstandard
from crc32c import crc32c

from tests.mutation.corpus import Side, side_of, sides_of
from tests.mutation.histories import places
from tests.mutation.mutators import MANY, SOME, Mutant, changed, mutator, spread
from tests.mutation.record import Plain, join, split
from tests.support.batches import message_bytes
from tests.support.traffic import BROKER, CLIENT

FETCH = 1
# Offsets in a batch of magic 2 (spec/001 "5.3.1 Record Batch"); magic stands there in every format.
LENGTH, LEADER_EPOCH, MAGIC, CRC, ATTRIBUTES, LAST_DELTA, BASE_TIME, MAX_TIME = 8, 12, 16, 17, 21, 23, 27, 35
PRODUCER_ID, COUNT, HEAD = 43, 57, 61
# Of a message of magic 0 or 1 (spec/001 "5.3.3 Old Message Format").
OLD_CRC, OLD_ATTRIBUTES, OLD_TIME = 12, 17, 18
GZIP, LZ4, ZSTD = 1, 3, 4
APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 8, 0x10, 0x20, 0x40


def number(batch: bytes, at: int, size: int) -> int:
    """A field of a batch."""
    return int.from_bytes(batch[at : at + size], signed=True)


def sealed(batch: bytes) -> bytes:
    """A batch of magic 2 with the length and checksum of its bytes."""
    length = (len(batch) - LEADER_EPOCH).to_bytes(4)
    return (
        batch[:LENGTH]
        + length
        + batch[LEADER_EPOCH:CRC]
        + crc32c(batch[ATTRIBUTES:]).to_bytes(4)
        + batch[ATTRIBUTES:]
    )


def put(batch: bytes, at: int, size: int, value: int) -> bytes:
    """A batch of magic 2 with another field, sealed."""
    return sealed(batch[:at] + value.to_bytes(size, signed=True) + batch[at + size :])


def flagged(batch: bytes, bits: int) -> bytes:
    """A batch of magic 2 with further bits in its attributes."""
    return put(batch, ATTRIBUTES, 2, number(batch, ATTRIBUTES, 2) | bits)


def codec(batch: bytes) -> int:
    """The codec of a batch of magic 2."""
    return batch[ATTRIBUTES + 1] & 7


def is_whole(data: bytes, magic: int = 2) -> bool:
    """Whether a records field is one batch (magic 2) or message (0, 1) and nothing else."""
    return len(data) > 26 and data[MAGIC] == magic and number(data, LENGTH, 4) == len(data) - LEADER_EPOCH


def records_of(batch: bytes) -> list[Plain] | None:
    """The records of a batch of magic 2 that is not compressed, or with gzip; None of others."""
    if not is_whole(batch) or codec(batch) > GZIP:
        return None
    content = batch[HEAD:] if codec(batch) == 0 else gzip.decompress(batch[HEAD:])
    return split(content)


def with_content(batch: bytes, content: bytes) -> bytes:
    """A batch of magic 2 with other records, compressed as before, sealed."""
    return sealed(batch[:HEAD] + (content if codec(batch) == 0 else gzip.compress(content, mtime=0)))


class Held(NamedTuple):
    """A records field that holds something, in a body."""

    body: Side
    topic: int
    partition: int
    data: bytes

    def mutant(self, data: bytes) -> Mutant:
        """The exchange with other records."""
        value = self.body.value()
        _rows(value)[self.topic][1][self.partition].records = data
        return changed(self.body, self.body.encoded(value))


def _rows(value: Any) -> list[tuple[Any, Any]]:
    topics = getattr(value, "topic_data", None)
    if topics is not None:
        return [(topic, topic.partition_data) for topic in topics]
    return [(topic, topic.partitions) for topic in value.responses]


def held_in(body: Side) -> Iterator[Held]:
    """The records fields of a body that hold something."""
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
    """The request asks for an offset far behind what is answered."""
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


# records


def records(
    name: str, owner: str, says: str, *messages: tuple[str, int], limit: int = SOME
) -> Callable[[Callable[[list[Plain], random.Random], bool | None]], None]:
    """Register a function that changes records in place; False where it has nothing to change."""

    def register(change: Callable[[list[Plain], random.Random], bool | None]) -> None:
        def of_batch(batch: bytes, rng: random.Random) -> bytes | None:
            found = records_of(batch)
            if not found or batch[ATTRIBUTES + 1] & CONTROL or change(found, rng) is False:
                return None
            return with_content(batch, join(found))

        batches(name, owner, says, *messages, limit=limit)(of_batch)

    return register


@records("header-key-null", "REC009", "a header has a key", *BOTH)
def _header_key(found: list[Plain], rng: random.Random) -> None:
    found[-1].headers.append((None, b"x"))


@records("header-key-not-utf8", "REC032", "a header's key is UTF-8", *BOTH)
def _header_utf8(found: list[Plain], rng: random.Random) -> None:
    found[-1].headers.append((b"\xff\xfe", b"x"))


@records("value-length-below-1", "REC010", "a length in a record is -1 or more", *BOTH)
def _below(found: list[Plain], rng: random.Random) -> None:
    found[0].value_length = -rng.randrange(2, 50)


@records("record-too-long", "REC011", "a record's length is that of its fields", *BOTH)
def _longer(found: list[Plain], rng: random.Random) -> None:
    found[-1].tail = bytes(rng.randrange(1, 9))


@records("record-attributes", "REC030", "a record's attributes are 0", *BOTH)
def _attributes(found: list[Plain], rng: random.Random) -> None:
    rng.choice(found).attributes = 1 << rng.randrange(8)


@records("offset-delta-back", "REC031", "offset deltas rise", *BOTH)
def _delta(found: list[Plain], rng: random.Random) -> bool:
    if len(found) > 1:
        found[-1].offset_delta = 0
    return len(found) > 1


@records("offset-delta-gap", "REC031", "in a Produce offset deltas count up by one", PRODUCED)
def _delta_gap(found: list[Plain], rng: random.Random) -> None:
    found[-1].offset_delta += 5


@batches("a-record-missing", "REC012", "as many records as the batch says fill it", *BOTH)
def _missing(batch: bytes, rng: random.Random) -> bytes | None:
    found = records_of(batch)
    return with_content(batch, join(found[:-1])) if found and len(found) > 1 else None


@batches("a-record-too-many", "REC012", "as many records as the batch says fill it", *BOTH)
def _too_many(batch: bytes, rng: random.Random) -> bytes | None:
    found = records_of(batch)
    return with_content(batch, join([*found, found[-1]])) if found else None


@batches(
    "base-timestamp-early",
    "REC034",
    "a produced batch's base timestamp is that of its first record",
    PRODUCED,
)
def _base_time(batch: bytes, rng: random.Random) -> bytes | None:
    """Five seconds earlier, and every record five seconds farther from it."""
    found = records_of(batch)
    if not found:
        return None
    for record in found:
        record.time_delta += 5000
    return with_content(put(batch, BASE_TIME, 8, number(batch, BASE_TIME, 8) - 5000), join(found))


# markers of transactions


def markers(name: str, owner: str, says: str) -> Callable[[Change], Change]:
    """Register a function that changes a control batch in a Fetch response."""

    def register(change: Change) -> Change:
        def make(rng: random.Random) -> Iterator[Mutant]:
            for _, scene in places(rng, FETCH, each=30, oldest=4):
                body = side_of(scene, BROKER)
                for held in held_in(body) if body is not None else ():
                    at, batch = _marker_in(held.data)
                    if batch:
                        yield held.mutant(
                            held.data[:at] + sealed_marker(change, batch, rng) + held.data[at + len(batch) :]
                        )
                        break

        mutator(name, owner, says)(make)
        return change

    return register


def sealed_marker(change: Change, batch: bytes, rng: random.Random) -> bytes:
    """A changed control batch."""
    found = change(batch, rng)
    assert found is not None
    return found


def _marker_in(data: bytes) -> tuple[int, bytes]:
    """The first whole control batch of a records field and where it stands; empty if there is none."""
    at = 0
    while at + HEAD <= len(data):
        end = at + LEADER_EPOCH + number(data, at + LENGTH, 4)
        if end > len(data) or data[at + MAGIC] != 2:
            break
        is_marker = data[at + ATTRIBUTES + 1] & CONTROL and number(data, at + PRODUCER_ID, 8) >= 0
        if is_marker and number(data, at + COUNT, 4) == 1:
            return at, data[at:end]
        at = end
    return 0, b""


@markers("two-markers", "REC038", "a batch that commits or aborts holds one record")
def _markers(batch: bytes, rng: random.Random) -> bytes:
    (record,) = split(batch[HEAD:])
    again = record.but(offset_delta=1)
    return with_content(put(put(batch, COUNT, 4, 2), LAST_DELTA, 4, 1), join([record, again]))


@markers("short-control-key", "REC039", "a control key holds a version and a type")
def _short_key(batch: bytes, rng: random.Random) -> bytes:
    (record,) = split(batch[HEAD:])
    return with_content(batch, join([record.but(key=b"\0\0")]))


@markers("marker-of-nobody", "REC040", "a batch that commits or aborts names the producer")
def _nobody(batch: bytes, rng: random.Random) -> bytes:
    return put(batch, PRODUCER_ID, 8, -1)


@markers("marker-without-transaction", "REC040", "a batch that commits or aborts is transactional")
def _untransactional(batch: bytes, rng: random.Random) -> bytes:
    return put(batch, ATTRIBUTES, 2, number(batch, ATTRIBUTES, 2) & ~TRANSACTIONAL)


@markers("marker-cut", "REC041", "a control record has the format of its type")
def _cut_marker(batch: bytes, rng: random.Random) -> bytes:
    (record,) = split(batch[HEAD:])
    assert record.value is not None
    return with_content(batch, join([record.but(value=record.value[:-1])]))


@markers("control-type-99", "REC042", "control types newer than the schema are told")
def _type(batch: bytes, rng: random.Random) -> bytes:
    (record,) = split(batch[HEAD:])
    return with_content(batch, join([record.but(key=b"\0\0\0\x63")]))


# old compressed messages


def old_sealed(message: bytes) -> bytes:
    """A message of magic 0 or 1 with the length and checksum of its bytes."""
    length = (len(message) - LEADER_EPOCH).to_bytes(4)
    return message[:LENGTH] + length + zlib.crc32(message[MAGIC:]).to_bytes(4) + message[MAGIC:]


def _parts(message: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Head, key and decompressed value of a message that is compressed with gzip; None of others."""
    if message[OLD_ATTRIBUTES] & 7 != GZIP:
        return None
    at = OLD_TIME + 8 * message[MAGIC]
    key_length = number(message, at, 4)
    key_end = at + 4 + max(key_length, 0)
    return message[:at], message[at:key_end], gzip.decompress(message[key_end + 4 :])


def _wrapper(head: bytes, key: bytes, value: bytes | None) -> bytes:
    """A compressed message of its parts; `value` is what is inside."""
    if value is None:
        return old_sealed(head + key + b"\xff\xff\xff\xff")
    squeezed = gzip.compress(value, mtime=0)
    return old_sealed(head + key + len(squeezed).to_bytes(4) + squeezed)


Inner = Callable[[bytes, bytes, bytes, random.Random], bytes | None]


def wrappers(
    name: str, owner: str, says: str, *messages: tuple[str, int], magics: tuple[int, ...] = (0, 1)
) -> Callable[[Inner], Inner]:
    """Register a function of head, key and content of a compressed message that gives another message."""

    def register(change: Inner) -> Inner:
        def of_message(message: bytes, rng: random.Random) -> bytes | None:
            parts = _parts(message)
            return None if parts is None else change(*parts, rng)

        for magic in magics:
            named = name if len(magics) == 1 else f"{name}-{magic}"
            batches(named, owner, says, *messages, magic=magic, limit=12)(of_message)
        return change

    return register


@wrappers("compressed-inside", "REC006", "a message inside a compressed one is not compressed", *BOTH)
def _nested(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    squeezed = gzip.compress(value, mtime=0)
    inner = message_bytes(squeezed, magic=head[MAGIC], attributes=GZIP)
    return _wrapper(head, key, inner)


@wrappers(
    "other-magic-inside", "REC007", "messages inside a compressed one have its magic", *BOTH, magics=(1,)
)
def _inner_magic(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    return _wrapper(head, key, message_bytes(b"v", magic=0))


@wrappers("nothing-inside", "REC008", "a compressed message holds messages", *BOTH)
def _nothing(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    return _wrapper(head, key, rng.choice((None, b"")))


@wrappers("wrapper-with-key", "REC029", "the key of a compressed message is null", *BOTH)
def _key(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    return _wrapper(head, (3).to_bytes(4) + b"key", value)


@wrappers(
    "wrapper-offset-too-low",
    "REC035",
    "a compressed message has the offset of the last inside",
    FETCHED,
    magics=(1,),
)
def _wrapper_offset(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes | None:
    last = _last_inside(value)
    return _wrapper((last - 1).to_bytes(8, signed=True) + head[8:], key, value) if last > 0 else None


def _last_inside(value: bytes) -> int:
    """The offset of the last message in a message set."""
    at = last = 0
    while at + LEADER_EPOCH < len(value):
        last = number(value, at, 8)
        at += LEADER_EPOCH + number(value, at + LENGTH, 4)
    return last


@wrappers("lz4-as-its-format-says", "REC037", "early lz4 frames have another checksum", *BOTH, magics=(0,))
def _lz4(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    """The same messages, compressed with lz4: a frame of today's libraries."""
    squeezed = lz4.frame.compress(value)
    head = head[:OLD_ATTRIBUTES] + bytes((head[OLD_ATTRIBUTES] & ~7 | LZ4,)) + head[OLD_TIME:]
    return old_sealed(head + key + len(squeezed).to_bytes(4) + squeezed)


@wrappers(
    "inner-offset-skipped",
    "REC036",
    "messages of magic 1 inside a produced one count up from 0",
    PRODUCED,
    magics=(1,),
)
def _inner_offset(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    return _wrapper(head, key, (7).to_bytes(8) + value[8:])
