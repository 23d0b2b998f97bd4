"""Record batches of magic 2: a pool built once, stamped with offsets, times, producer and CRC when sent."""

from __future__ import annotations

import struct
from random import Random
from typing import NamedTuple

from crc32c import crc32c

from .codecs import CODEC_BITS, COMPRESSORS, EXPECTED_RATIO, PLAIN_LIMIT
from .options import Profile

# Kafka documentation, "Record Batch": baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes,
# lastOffsetDelta, baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence, recordsCount.
HEADER = struct.Struct(">qiibIhiqqqhii")
EPOCH_OFFSET = 12
CRC_OFFSET = 17
CRC_START = 21
TIMES_OFFSET = 27
_times_and_producer = struct.Struct(">qqqhi")
_crc = struct.Struct(">I")
_offset = struct.Struct(">q")
_epoch = struct.Struct(">i")
POOL_SIZE = 20  # batches for each codec: enough to vary, few enough to build in half a second
RECORD_SPACING_MS = 3  # at most between two records of a batch
LEADER_EPOCH = 7  # written by the broker into what it serves; a producer sends -1
HEADERS = (("trace-id", b"00-4bf92f3577b34da6a3ce929d0e0e4736-01"), ("content-type", b"application/json"))


class Batch(NamedTuple):
    """One batch of the pool: bytes with base offset 0, number of records, milliseconds they span."""

    data: bytes
    records: int
    span_ms: int


class Stamp(NamedTuple):
    """Where a batch lies in a frame, as `stamp` needs it."""

    start: int
    end: int
    partition: int
    """Index into the partitions of the persona."""
    records: int
    span_ms: int


def _value(random: Random, size: int) -> bytes:
    """Return a JSON document of about `size` bytes: repeated names, changing numbers, some noise."""
    number = random.getrandbits(40)
    amount = number % 100000 / 100
    text = f'{{"order":{number},"customer":"c-{number % 9973:05d}","amount":{amount},"status":"PAID"'
    noise = max(0, size - len(text) - 40) // 3
    note = "express delivery to the depot; " * (noise // 16 + 1)
    return f'{text},"note":"{note}","sig":"{random.randbytes(noise // 2).hex()}"}}'.encode()


def _records(random: Random, profile: Profile, target: float) -> tuple[bytes, int, int]:
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 2**30)
    time_ms = count = 0
    low, high = profile.value_bytes
    while count == 0 or builder.size() - HEADER.size < target:
        key = f"key-{random.getrandbits(20):06x}".encode() if random.random() < 0.7 else None
        value = _value(random, random.randint(low, high)) if random.random() < 0.98 else None
        headers = HEADERS if high > 200 and random.random() < 0.1 else ()
        time_ms += random.randint(0, RECORD_SPACING_MS) if count else 0
        # The first record fixes the base timestamp; deltas are all that stays once a batch is stamped.
        builder.append(count, time_ms, key, value, headers)
        count += 1
    return bytes(builder.build())[HEADER.size :], count, time_ms


def build_batch(random: Random, profile: Profile, codec: str) -> Batch:
    """Return a batch of the profile's size, compressed; its records are encoded by kafka-python,
    not by us.
    """
    low, high = profile.batch_bytes
    target = random.uniform(low, high) * (EXPECTED_RATIO[codec] if high > 1000 else 1)
    plain, count, span = _records(random, profile, min(target, PLAIN_LIMIT))
    records = COMPRESSORS[codec](plain)
    length = HEADER.size - 12 + len(records)  # batchLength counts what follows itself
    head = HEADER.pack(0, length, -1, 2, 0, CODEC_BITS[codec], count - 1, 0, span, -1, -1, -1, count)
    return Batch(head + records, count, span)


def build_pool(random: Random, profile: Profile, codec: str) -> list[Batch]:
    """Return the batches from which every frame with this codec is built."""
    return [build_batch(random, profile, codec) for _ in range(POOL_SIZE)]


def stamp(frame: bytearray, place: Stamp, first_ms: int, producer: int, epoch: int, sequence: int) -> None:
    """Write times and producer into the batch at `place`, then its CRC-32C."""
    start = place.start
    _times_and_producer.pack_into(
        frame, start + TIMES_OFFSET, first_ms, first_ms + place.span_ms, producer, epoch, sequence
    )
    with memoryview(frame) as view:
        _crc.pack_into(frame, start + CRC_OFFSET, crc32c(view[start + CRC_START : place.end]))


def serve(frame: bytearray, place: Stamp, base_offset: int) -> None:
    """Write the offset and leader epoch a broker gives a batch; neither is under the CRC."""
    _offset.pack_into(frame, place.start, base_offset)
    _epoch.pack_into(frame, place.start + EPOCH_OFFSET, LEADER_EPOCH)
