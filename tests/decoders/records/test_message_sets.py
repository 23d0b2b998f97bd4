"""spec/001 "5.3.3 Old Message Format", statement by statement."""

import gzip
import struct
import zlib

import pytest

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import read_records
from kdissect.model.record_batch import Record
from tests.support.messages.batches import kafka_python_messages, message_bytes
from tests.support.messages.records import faults_of, ours, plain, theirs, whole

NOW = 1_400_000_000_000
APPENDED = NOW + 5000
SAMPLES = [(NOW + i, None if i % 3 == 0 else b"k%d" % i, b"v" * i, []) for i in range(1, 9)]


def wrapper(inner: bytes, *, offset: int, magic: int = 1, attributes: int = 1, timestamp: int = NOW) -> bytes:
    return message_bytes(
        gzip.compress(inner), magic=magic, offset=offset, attributes=attributes, timestamp=timestamp
    )


def test_a_message_set_has_no_count() -> None:
    """5.3.3: "they are not preceded by an int32 array size"."""
    data = message_bytes(b"a", offset=7) + message_bytes(b"b", offset=8)
    found = split_batches(data, 0, len(data))
    assert [read_records(batch).records[0].value for batch in found.batches] == [b"a", b"b"]
    assert [batch.base_offset for batch in found.batches] == [7, 8]


@pytest.mark.parametrize("magic", [0, 1])
def test_fields_of_a_message(magic: int) -> None:
    """5.3.3: magic 1 adds the timestamp; key and value are nullable bytes. 5.3.2: headers came later."""
    time = NOW if magic else -1
    assert read_records(whole(message_bytes(b"v", key=b"k", magic=magic, offset=5))).records == [
        Record(5, time, b"k", b"v")
    ]
    assert read_records(whole(message_bytes(None, magic=magic))).records == [Record(0, time, None, None)]


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_every_codec_of_both_formats_equals_kafka_python(magic: int, codec: int) -> None:
    """5.3.3.

    Bits 0 to 2. kafka-python writes the lz4 frames of magic 0 with the wrong checksum of KAFKA-3160.
    """
    data = kafka_python_messages(SAMPLES, magic, codec)
    found = split_batches(data, 0, len(data))
    assert not found.faults
    assert [record for batch in found.batches for record in ours(batch)] == theirs(data)
    assert len(found.batches) == (1 if codec else len(SAMPLES))
    assert {batch.codec for batch in found.batches} == {codec}


def test_the_crc_is_crc_32_from_the_magic_byte_on() -> None:
    """5.3.3: "The crc field contains the CRC32 (and not CRC-32C) of the subsequent message bytes"."""
    data = message_bytes(b"value", key=b"key")
    assert whole(data).computed_crc == zlib.crc32(data[16:])
    changed = data[:-1] + b"?"
    assert faults_of(whole(changed)) == [
        f"bad_crc crc: says {zlib.crc32(data[16:]):#010x}, "
        f"the bytes give {zlib.crc32(changed[16:]):#010x} at byte 12"
    ]


def test_inner_offsets_of_magic_1_are_relative_to_the_wrapper_s_last() -> None:
    """5.3.3: "The absolute offset can be computed using the offset from the outer message"."""
    inner = b"".join(message_bytes(b"%d" % i, offset=i) for i in range(3))
    assert [r.offset for r in read_records(whole(wrapper(inner, offset=102))).records] == [100, 101, 102]


def test_inner_offsets_with_holes_of_compaction() -> None:
    inner = message_bytes(b"a", offset=1) + message_bytes(b"b", offset=4)
    assert [r.offset for r in read_records(whole(wrapper(inner, offset=1004))).records] == [1001, 1004]


def test_a_wrapper_with_offset_0_of_a_producer_leaves_inner_offsets_alone() -> None:
    """librdkafka leaves the wrapper's offset 0: then it is not that of the last inner message."""
    inner = b"".join(message_bytes(b"", offset=i) for i in range(3))
    assert [r.offset for r in read_records(whole(wrapper(inner, offset=0))).records] == [0, 1, 2]


def test_inner_offsets_of_magic_0_are_absolute() -> None:
    """5.3.3: "each inner message is assigned an offset individually"."""
    inner = b"".join(message_bytes(b"", offset=50 + i, magic=0) for i in range(3))
    batch = whole(wrapper(inner, offset=52, magic=0))
    assert [r.offset for r in read_records(batch).records] == [50, 51, 52]


def test_a_wrapper_with_append_time_overrides_the_time_of_inner_messages() -> None:
    """5.3.3: "the broker will overwrite the timestamp type and the timestamp in the message set"."""
    inner = message_bytes(b"a", timestamp=1) + message_bytes(b"b", offset=1, timestamp=2)
    batch = whole(wrapper(inner, offset=1, attributes=1 | 8, timestamp=APPENDED))
    assert [r.timestamp for r in read_records(batch).records] == [APPENDED] * 2
    created = whole(wrapper(inner, offset=1, timestamp=APPENDED))
    assert [r.timestamp for r in read_records(created).records] == [1, 2]


def test_magic_0_has_neither_timestamp_type_nor_transactions() -> None:
    """5.3.3: bits 3 to 7 are unused in version 0."""
    batch = whole(message_bytes(b"", magic=0, attributes=0x38))
    assert (batch.is_log_append_time, batch.is_transactional, batch.is_control) == (False, False, False)


def test_nested_compression_is_read_and_told() -> None:
    """5.3.3 knows inner and outer messages only; Kafka refuses more."""
    inner = message_bytes(gzip.compress(message_bytes(b"deep", offset=0)), offset=0, attributes=1)
    batch = whole(wrapper(inner, offset=9))
    assert [(r.offset, r.value) for r in read_records(batch).records] == [(9, b"deep")]
    assert faults_of(batch) == [
        "nested_compression records[0]: a gzip message inside a gzip message "
        "at byte 0 of the decompressed records"
    ]


def test_nesting_ends_at_a_depth() -> None:
    data = message_bytes(b"end")
    for _ in range(10):
        data = message_bytes(gzip.compress(data), attributes=1)
    found = read_records(whole(data))
    assert not found.records
    assert len(found.faults) == 4


def test_a_compressed_message_without_a_value() -> None:
    assert faults_of(whole(message_bytes(None, attributes=1))) == [
        "empty_wrapper records.value: a compressed message without a value at byte 26"
    ]


def test_a_bad_crc_inside_a_compressed_message_is_told() -> None:
    good, bad = message_bytes(b"good"), bytearray(message_bytes(b"bad", offset=1))
    bad[-1] ^= 1
    batch = whole(wrapper(good + bytes(bad), offset=1))
    assert [r.value for r in read_records(batch).records] == [b"good", b"bae"]
    assert [fault.split(":")[0] for fault in faults_of(batch)] == ["bad_crc records[1].crc"]


def test_lengths_that_lie_inside_a_message() -> None:
    data = bytearray(message_bytes(b"value", key=b"key"))
    struct.pack_into(">i", data, 26, 1000)
    struct.pack_into(">I", data, 12, zlib.crc32(data[16:]))
    assert faults_of(whole(bytes(data))) == ["malformed_record key: length 1000, 12 bytes follow at byte 26"]


def test_records_of_both_readers_agree_on_a_set_of_mixed_formats() -> None:
    """A log that was upgraded has all formats side by side (5.3.1: the magic byte tells)."""
    from tests.support.messages.batches import batch_bytes, record_bytes

    data = (
        kafka_python_messages(SAMPLES, 0, 1)
        + kafka_python_messages(SAMPLES, 1, 2)
        + batch_bytes(record_bytes(value=b"v2"), base_offset=16)
    )
    found = split_batches(data, 0, len(data))
    assert [batch.magic for batch in found.batches] == [0, 1, 2]
    assert [plain(r) for batch in found.batches for r in read_records(batch).records] == theirs(data)
