"""Bytes that do not fit: what is told, and that the neighbours are read all the same."""

import struct

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import read_records
from tests.support.messages.batches import (
    batch_bytes,
    blob,
    kafka_python_batch,
    message_bytes,
    record_bytes,
    zigzag,
)
from tests.support.messages.records import faults_of, whole

GOOD = batch_bytes(record_bytes(value=b"good"))


def values(data: bytes, **options: bool) -> list[bytes | None]:
    return [
        record.value
        for batch in split_batches(data, 0, len(data), **options).batches
        for record in read_records(batch).records
    ]


def broken(body: bytes) -> list[str]:
    """Faults of a batch with one record of this body behind the length."""
    return faults_of(whole(batch_bytes(zigzag(len(body)) + body)))


@pytest.mark.parametrize("length", [0, 48, -1, -(1 << 31)])
def test_a_length_that_is_too_short(length: int) -> None:
    data = batch_bytes(record_bytes(value=b"lost"), length=length)
    found = split_batches(data + GOOD, 0, len(data + GOOD))
    assert [str(fault) for fault in found.faults] == [
        f"batches[0].length: length {length} is too short for a batch of magic 2; "
        f"{len(data)} bytes skipped at byte 8"
    ]
    assert values(data + GOOD) == [b"good"]


def test_a_length_that_ends_inside_the_batch() -> None:
    data = batch_bytes(record_bytes(value=b"x" * 100), length=60)
    found = split_batches(data + GOOD, 0, len(data + GOOD))
    assert [fault.kind for batch in found.batches for fault in batch.faults] == ["bad_crc"]
    assert [fault.kind for fault in found.faults] == ["unknown_magic"]
    assert b"good" in values(data + GOOD)


def test_a_length_that_reaches_over_the_next_batch() -> None:
    data = batch_bytes(record_bytes(value=b"x"), length=49 + len(record_bytes(value=b"x")) + 30)
    rest = GOOD + batch_bytes(record_bytes(value=b"second"))
    found = split_batches(data + rest, 0, len(data + rest))
    assert found.batches[0].faults[1].why == f"length 87 reaches over the batch at byte {len(data)}"
    assert values(data + rest)[-2:] == [b"good", b"second"]


@pytest.mark.parametrize("may_be_cut", [False, True])
def test_a_length_that_reaches_past_the_end_costs_only_its_batch(may_be_cut: bool) -> None:
    data = batch_bytes(record_bytes(value=b"lost"), length=100_000)
    found = split_batches(data + GOOD, 0, len(data + GOOD), may_be_cut=may_be_cut)
    assert [str(fault) for fault in found.faults] == [
        f"batches[0].length: length 100000, only 132 bytes follow; {len(data)} bytes skipped at byte 8"
    ]
    assert values(data + GOOD, may_be_cut=may_be_cut) == [b"good"]


@pytest.mark.parametrize(
    "make", [lambda: GOOD, lambda: message_bytes(b"good"), lambda: message_bytes(b"good", magic=0)]
)
def test_the_end_of_a_fetch_may_be_cut_anywhere(make) -> None:
    """spec/001 5.4 "Reads": "It is likely that the read buffer ends with a partial message"."""
    data = make()
    for cut in range(1, len(data)):
        found = split_batches(data + data[:cut], 0, len(data) + cut, may_be_cut=True)
        assert (len(found.batches), found.faults, found.cut) == (1, [], cut)
        found = split_batches(data + data[:cut], 0, len(data) + cut)
        assert [(fault.kind, fault.path.split(".")[0]) for fault in found.faults] == [
            ("cut_batch", "batches[1]")
        ]


def test_no_byte_of_the_neighbourhood_is_read() -> None:
    found = split_batches(b"\xff" * 7 + GOOD + b"\xff" * 9, 7, 7 + len(GOOD))
    assert (len(found.batches), found.faults, found.cut) == (1, [], 0)


@pytest.mark.parametrize(("says", "has"), [(5, 2), (0, 2), (-1, 2), (1 << 30, 2), (1, 0)])
def test_a_count_that_lies(says: int, has: int) -> None:
    batch = whole(batch_bytes(b"".join(record_bytes(i) for i in range(has)), says, last_delta=0))
    assert len(read_records(batch).records) == has
    assert faults_of(batch) == [
        f"bad_record_count count: says {says}, {has} records fill the batch at byte 57"
    ]


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist(codec: int) -> None:
    assert faults_of(whole(batch_bytes(b"abc", attributes=codec))) == [
        f"unknown_codec attributes: there is no codec {codec} at byte 21"
    ]
    assert faults_of(whole(message_bytes(b"abc", attributes=codec))) == [
        f"unknown_codec attributes: there is no codec {codec} at byte 17"
    ]


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compressed_bytes_that_are_none(codec: int) -> None:
    (fault,) = faults_of(whole(batch_bytes(b"\x00 no such stream", attributes=codec)))
    name = ("", "gzip", "snappy", "lz4", "zstd")[codec]
    assert fault.startswith(f"corrupt_compression records: {name}: ")


BODY = b"\0" + zigzag(0) + zigzag(0) + blob(b"k") + blob(b"v") + zigzag(0)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "attributes: the record is empty at byte 62"),
        (b"\0", "timestamp_delta: varint runs past the end at byte 63"),
        (b"\0\x80", "timestamp_delta: varint runs past the end at byte 63"),
        (b"\0\0", "offset_delta: varint runs past the end at byte 64"),
        (b"\0\0" + b"\xff" * 6, "offset_delta: varint does not fit 32 bits at byte 64"),
        (b"\0" + b"\xff" * 11, "timestamp_delta: varint does not fit 64 bits at byte 63"),
        (b"\0\0\0\x03", "key: length -2 is negative at byte 65"),
        (b"\0\0\0\x08ab", "key: 4 bytes run past the end of the record, 2 left at byte 65"),
        (b"\0\0\0\1", "value: varint runs past the end at byte 66"),
        (b"\0\0\0\1\1", "headers: varint runs past the end at byte 67"),
        (b"\0\0\0\1\1\1", "headers: count -1 is negative at byte 67"),
        (b"\0\0\0\1\1\x7f", "headers: count -64 is negative at byte 67"),
        (b"\0\0\0\1\1\x7e", "headers: 63 headers do not fit the 0 bytes left at byte 67"),
        (BODY + b"tail", "length: 4 bytes are left over in the record at byte 70"),
    ],
)
def test_a_record_that_does_not_fit_is_named_and_the_others_are_read(body: bytes, fault: str) -> None:
    bad = zigzag(len(body)) + body
    found = read_records(whole(batch_bytes(bad + record_bytes(1, value=b"next"), 2)))
    assert [str(each) for each in found.faults] == [f"records[0].{fault}"]
    assert [record.value for record in found.records] == [b"next"]


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        (b"\xff", "varint runs past the end at byte 68"),
        (zigzag(-5), "length -5, 0 bytes follow at byte 68"),
        (zigzag(5), "length 5, 0 bytes follow at byte 68"),
    ],
)
def test_a_record_length_that_leads_nowhere_ends_the_batch(tail: bytes, fault: str) -> None:
    found = read_records(whole(batch_bytes(record_bytes(value=b"") + tail, 2)))
    assert len(found.records) == 1
    assert [str(each) for each in found.faults] == [f"records[1].length: {fault}"]


def test_places_in_compressed_records_are_places_in_what_they_decompress_to() -> None:
    import gzip

    batch = whole(batch_bytes(gzip.compress(record_bytes() + zigzag(1) + b"\0"), 2, attributes=1))
    assert faults_of(batch) == [
        "malformed_record records[1].timestamp_delta: varint runs past the end "
        "at byte 9 of the decompressed records"
    ]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_the_bytes_nothing_raises(data: st.DataObject) -> None:
    """A valid batch with random damage, its checksum put right so that the records are looked at."""
    codec = data.draw(st.integers(0, 4))
    raw = bytearray(kafka_python_batch([(5, b"key", b"value" * 9, [("h", b"v")])] * 3, codec))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(21, len(raw) - 1))] = data.draw(st.integers(0, 255))
    struct.pack_into(">I", raw, 17, crc32c(bytes(raw[21:])))
    for batch in split_batches(bytes(raw), 0, len(raw)).batches:
        read_records(batch)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_raise_nothing(noise: bytes, may_be_cut: bool) -> None:
    data = noise + GOOD
    found = split_batches(data, 0, len(data), may_be_cut=may_be_cut)
    assert b"good" in values(data)
    assert all(read_records(batch) for batch in found.batches)


def test_a_bomb_is_told_and_its_neighbours_are_read() -> None:
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(bytes((128 << 20) + 1))
    data = GOOD + batch_bytes(bomb, attributes=4) + GOOD
    assert values(data) == [b"good", b"good"]
    (fault,) = faults_of(split_batches(data, 0, len(data)).batches[1])
    assert fault.startswith("decompression_limit records: zstd: bytes grow beyond 16777216 at byte ")


def test_what_is_searched_for_is_a_right_checksum() -> None:
    from kdissect.decoders.records.search import find_batch

    wrong = batch_bytes(record_bytes(value=b"looks like one"), crc=1)
    data = b"\x02" * 40 + wrong + GOOD
    assert find_batch(data, 0, len(data)) == len(data) - len(GOOD)
    assert find_batch(data, 0, len(data) - 1) is None
