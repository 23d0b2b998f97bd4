"""Mutators of what is inside batches: records, markers of transactions, old compressed messages."""

import gzip
import random
import zlib
from collections.abc import Callable, Iterator

import lz4.frame

from tests.mutation.corpus import side_of
from tests.mutation.families.batches import (
    ATTRIBUTES,
    BASE_TIME,
    BOTH,
    CONTROL,
    COUNT,
    FETCH,
    FETCHED,
    GZIP,
    HEAD,
    LAST_DELTA,
    LEADER_EPOCH,
    LENGTH,
    LZ4,
    MAGIC,
    OLD_ATTRIBUTES,
    OLD_TIME,
    PRODUCED,
    PRODUCER_ID,
    TRANSACTIONAL,
    Change,
    batches,
    held_in,
    number,
    put,
    records_of,
    with_content,
)
from tests.mutation.families.histories import places
from tests.mutation.mutators import SOME, Mutant, mutator
from tests.mutation.record import Plain, join, split
from tests.support.messages.batches import message_bytes
from tests.support.messages.traffic import BROKER

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
    """Return a changed control batch."""
    found = change(batch, rng)
    assert found is not None
    return found


def _marker_in(data: bytes) -> tuple[int, bytes]:
    """Return the first whole control batch of a records field and where it stands; empty if there is none."""
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
    """Return a message of magic 0 or 1 with the length and checksum of its bytes."""
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
    """Return a compressed message of its parts; `value` is what is inside."""
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
    """Return the offset of the last message in a message set."""
    at = last = 0
    while at + LEADER_EPOCH < len(value):
        last = number(value, at, 8)
        at += LEADER_EPOCH + number(value, at + LENGTH, 4)
    return last


@wrappers("lz4-as-its-format-says", "REC037", "early lz4 frames have another checksum", *BOTH, magics=(0,))
def _lz4(head: bytes, key: bytes, value: bytes, rng: random.Random) -> bytes:
    """Return the same messages, compressed with lz4: a frame of today's libraries."""
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
