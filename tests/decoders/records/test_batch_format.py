"""spec/001 "5.3.1 Record Batch" and "5.3.2 Record", statement by statement."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import read_records
from kdissect.model.record_batch import Record
from tests.support.messages.batches import batch_bytes, blob, kafka_python_batch, record_bytes, zigzag
from tests.support.messages.records import faults_of, ours, theirs, whole

NOW = 1_700_000_000_000


def test_header_fields_stand_where_5_3_1_says() -> None:
    data = batch_bytes(
        record_bytes(), 1, base_offset=1 << 40, leader_epoch=7, attributes=0x10, last_delta=9,
        base_timestamp=11, max_timestamp=12, producer_id=13, epoch=14, sequence=15,
    )  # fmt: skip
    batch = whole(data)
    assert (batch.base_offset, batch.size, batch.leader_epoch, batch.magic) == (1 << 40, len(data), 7, 2)
    assert (batch.attributes, batch.last_offset_delta, batch.count) == (0x10, 9, 1)
    assert (batch.base_timestamp, batch.max_timestamp) == (11, 12)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (13, 14, 15)


def test_a_batch_contains_one_or_more_records() -> None:
    """5.3: "a record batch contains one or more records"."""
    records = b"".join(record_bytes(index, value=bytes((index,))) for index in range(3))
    assert [r.value for r in read_records(whole(batch_bytes(records, 3))).records] == [b"\0", b"\1", b"\2"]
    assert len(read_records(whole(batch_bytes(record_bytes(), 1))).records) == 1


@pytest.mark.parametrize("codec", range(5))
def test_bits_0_to_2_are_the_codec_and_the_compressed_records_follow_the_count(codec: int) -> None:
    """5.3.1: "the compressed record data is serialized directly following the count"."""
    samples = [(NOW + i, b"key%d" % i, b"value" * 50, [("h", b"x"), ("n", None)]) for i in range(20)]
    data = kafka_python_batch(samples, codec)
    batch = whole(data)
    assert (batch.codec, batch.records_start) == (codec, 61)
    assert ours(batch) == theirs(data)
    assert len(ours(batch)) == 20


def test_bit_3_makes_the_broker_s_time_that_of_every_record() -> None:
    """5.3.1 `bit 3: timestampType`; DefaultRecord takes maxTimestamp then."""
    records = record_bytes(0, 5) + record_bytes(1, 6)
    created, appended = whole(batch_bytes(records, 2)), whole(batch_bytes(records, 2, attributes=8))
    assert [r.timestamp for r in read_records(created).records] == [NOW + 5, NOW + 6]
    assert [r.timestamp for r in read_records(appended).records] == [NOW + 999] * 2
    assert (created.is_log_append_time, appended.is_log_append_time) == (False, True)


def test_bits_4_to_6() -> None:
    """5.3.1: isTransactional, isControlBatch, hasDeleteHorizonMs."""
    flags = [
        (batch.is_transactional, batch.is_control, batch.delete_horizon_ms)
        for batch in (whole(batch_bytes(record_bytes(), attributes=bits)) for bits in (0x10, 0x20, 0x40))
    ]
    assert flags == [(True, False, None), (False, True, None), (False, False, NOW)]


def test_timestamps_count_from_the_delete_horizon_where_there_is_one() -> None:
    """5.3.1: compaction sets the baseTimestamp to the delete horizon, so deltas may be negative."""
    batch = whole(batch_bytes(record_bytes(0, -86_400_000), attributes=0x40))
    assert [r.timestamp for r in read_records(batch).records] == [NOW - 86_400_000]


def test_the_crc_covers_attributes_to_the_end_and_no_more() -> None:
    """5.3.1: "The CRC covers the data from the attributes to the end of the batch"."""
    data = batch_bytes(record_bytes(value=b"abc"))
    for place in range(len(data)):
        if 8 <= place < 12 or place == 16:  # length and magic decide whether it is a batch at all
            continue
        changed = data[:place] + bytes((data[place] ^ 1,)) + data[place + 1 :]
        batch = split_batches(changed, 0, len(changed)).batches[0]
        assert batch.crc_is_right == (place < 16), place


def test_the_leader_epoch_is_outside_the_crc() -> None:
    """5.3.1: "The partition leader epoch field is not included in the CRC computation"."""
    data = batch_bytes(record_bytes())
    assert whole(data[:12] + struct.pack(">i", 99) + data[16:]).crc_is_right


def test_the_polynomial_is_castagnoli() -> None:
    """5.3.1.

    CRC-32C. The check value of "123456789" is 0xE3069283 (RFC 3720 appendix B.4 names the polynomial).
    """
    from crc32c import crc32c

    assert crc32c(b"123456789") == 0xE3069283
    samples = [(NOW, None, b"v", [])]
    assert whole(kafka_python_batch(samples)).crc_is_right


def test_the_magic_byte_is_read_before_the_rest_is_interpreted() -> None:
    """5.3.1: "clients must parse the magic byte before deciding how to interpret the bytes"."""
    data = bytearray(batch_bytes(record_bytes()))
    data[16] = 3
    found = split_batches(bytes(data), 0, len(data))
    assert not found.batches
    assert [str(fault) for fault in found.faults] == [
        f"batches[0].magic: there is no magic 3; {len(data)} bytes skipped at byte 16"
    ]


@pytest.mark.parametrize("codec", range(5))
def test_empty_batches_of_a_compacted_log(codec: int) -> None:
    """5.3.1: "it is possible to have empty batches in the log"; the first and last offset stay."""
    batch = whole(
        batch_bytes(b"", 0, base_offset=100, last_delta=9, attributes=codec, producer_id=1, sequence=5)
    )
    assert (batch.base_offset, batch.last_offset, batch.base_sequence) == (100, 109, 5)
    assert read_records(batch) == ([], [])


def test_offsets_are_the_base_offset_and_the_delta_with_holes_where_compaction_took_records() -> None:
    batch = whole(batch_bytes(record_bytes(3) + record_bytes(8), 2, base_offset=1000, last_delta=9))
    assert [r.offset for r in read_records(batch).records] == [1003, 1008]
    assert batch.last_offset == 1009


def test_sequences_count_with_the_offset_and_wrap_to_zero() -> None:
    """DefaultRecordBatch#incrementSequence; 5.3.1 on the sequence numbers of a batch."""
    batch = whole(
        batch_bytes(record_bytes(0) + record_bytes(1), 2, base_offset=50, sequence=0x7FFFFFFF, producer_id=1)
    )
    assert [batch.sequence_of(r.offset) for r in read_records(batch).records] == [0x7FFFFFFF, 0]
    assert whole(batch_bytes(record_bytes())).sequence_of(0) is None


def test_a_record_s_fields_stand_where_5_3_2_says() -> None:
    """5.3.2; 5.3.2.1: "The count of headers in a record is also encoded as a varint"."""
    body = b"\x07" + zigzag(-3) + zigzag(2) + blob(b"k") + blob(b"v") + zigzag(1) + blob(b"h") + blob(b"w")
    batch = whole(batch_bytes(zigzag(len(body)) + body))
    assert read_records(batch).records == [Record(2, NOW - 3, b"k", b"v", (("h", b"w"),), 7)]


def test_varints_are_those_of_protobuf() -> None:
    """5.3.2.1: "We use the same varint encoding as Protobuf", zigzag: its documents' examples."""
    known = {0: b"\x00", -1: b"\x01", 1: b"\x02", -2: b"\x03", 0x7FFFFFFF: b"\xfe\xff\xff\xff\x0f"}
    from kdissect.decoders.records.varint import varint

    for value, data in known.items():
        assert varint(data, 0, len(data)) == (value, len(data))


def test_header_keys_are_text_and_header_values_may_be_null() -> None:
    """5.3.2.1: "headerKey: String"; the value is nullable, the key is not."""
    batch = whole(batch_bytes(record_bytes(headers=[("é", b""), ("", None)])))
    assert read_records(batch).records[0].headers == (("é", b""), ("", None))
    null_key = b"\0\0\0\1\1" + zigzag(1) + zigzag(-1) + zigzag(-1)
    assert faults_of(whole(batch_bytes(zigzag(len(null_key)) + null_key))) == [
        "null_header_key records[0].headers[0].key: null is not allowed at byte 68"
    ]


RECORDS = st.lists(
    st.tuples(
        st.integers(-(1 << 40), 1 << 40),
        st.none() | st.binary(max_size=200),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=50, deadline=None)
@given(RECORDS, st.integers(0, 4))
def test_any_records_of_kafka_python(
    samples: list[tuple[int, bytes | None, bytes | None, list]], codec: int
) -> None:
    shifted = [(NOW + delta, key, value, headers) for delta, key, value, headers in samples]
    data = kafka_python_batch(shifted, codec)
    assert ours(whole(data)) == theirs(data)
    assert [(r[1], r[2], r[3], list(r[4])) for r in ours(whole(data))] == shifted
