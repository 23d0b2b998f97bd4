"""Columnar decoding equals decoding one after the other, record by record."""

import struct

import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdissect.decoders.jsonable import text_or_bytes
from kdissect.decoders.records.reader import read_records
from kdissect.model.record_batch import Record, RecordBatch
from tests.support.messages.batches import batch_bytes, record_bytes, zigzag
from tests.support.messages.records import whole

np = pytest.importorskip("numpy")


def by_columns(batches: list[RecordBatch]) -> list[list[Record] | None]:
    """Records of each batch by columns; None for a batch that does not fit."""
    from kdissect.decoders.records.columns import Spans, record_columns
    from kdissect.decoders.records.lockstep import padded

    parts = [batch.data[batch.records_start : batch.end] for batch in batches]
    data = padded(parts)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    starts = ends - np.array([len(part) for part in parts], np.int64)
    columns = record_columns(data, starts, ends, np.array([batch.count for batch in batches], np.int64))

    def content(spans: Spans, row: int) -> bytes | None:
        start, length = int(spans.start[row]), int(spans.length[row])
        return None if length < 0 else data[start : start + length]

    found: list[list[Record] | None] = [[] if ok else None for ok in columns.ok]
    header = 0
    for row, index in enumerate(columns.batch.tolist()):
        headers = []
        for _ in range(int(columns.header_count[row])):
            headers.append(
                (
                    text_or_bytes(content(columns.header_key, header) or b""),
                    content(columns.header_value, header),
                )
            )
            header += 1
        batch = batches[index]
        found[index].append(
            Record(
                batch.base_offset + int(columns.offset_delta[row]),
                batch.base_timestamp + int(columns.timestamp_delta[row]),
                content(columns.key, row),
                content(columns.value, row),
                tuple(headers),
                int(columns.attributes[row]),
            )
        )
    return found


def one_by_one(batches: list[RecordBatch]) -> list[list[Record] | None]:
    found = [read_records(batch) for batch in batches]
    return [None if each.faults else each.records for each in found]


DELTAS = st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-70, 70)
TIMES = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70)
BYTES = st.none() | st.binary(max_size=3) | st.binary(min_size=60, max_size=140)
RECORD = st.builds(
    record_bytes,
    DELTAS,
    TIMES,
    BYTES,
    BYTES,
    st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=3),
    st.integers(0, 255),
)


@pytest.fixture(params=[0, 80], ids=["lockstep", "short"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all batches in lockstep, and with a walk through each."""
    from kdissect.decoders.records import lockstep

    monkeypatch.setattr(lockstep, "FEW", request.param)


@pytest.mark.usefixtures("few")
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(RECORD, max_size=6), min_size=1, max_size=8))
def test_any_records(batches: list[list[bytes]]) -> None:
    built = [whole(batch_bytes(b"".join(records), len(records))) for records in batches]
    assert by_columns(built) == one_by_one(built)


@pytest.mark.usefixtures("few")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.lists(st.lists(RECORD, max_size=3), min_size=1, max_size=4))
def test_damaged_records_are_marked_and_only_they(data: st.DataObject, batches: list[list[bytes]]) -> None:
    built = []
    for records in batches:
        raw = bytearray(batch_bytes(b"".join(records), len(records)))
        for _ in range(data.draw(st.integers(0, 2))):
            if len(raw) > 61:
                raw[data.draw(st.integers(61, len(raw) - 1))] = data.draw(st.integers(0, 255))
        struct.pack_into(">I", raw, 17, crc32c(bytes(raw[21:])))
        built.append(whole(bytes(raw)))
    expected = one_by_one(built)
    for found, right in zip(by_columns(built), expected, strict=True):
        assert found == right or any(len(record.headers) > 64 for record in right or ())


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("count", [0, 1, 300])
def test_many_batches_of_uneven_length(count: int) -> None:
    built = [
        whole(batch_bytes(b"".join(record_bytes(i, value=b"x" * (i % 90)) for i in range(n % 7)), n % 7))
        for n in range(count)
    ]
    assert by_columns(built) == one_by_one(built) if count else True


@pytest.mark.parametrize(
    "body",
    [
        b"\0" + b"\xff" * 9 + b"\x02" + b"\0\1\1\0",  # a timestamp of 65 bits
        b"\0" + b"\xff" * 9 + b"\x01" + b"\0\1\1\0",  # one of 64 bits
        b"\0\0" + b"\xff" * 4 + b"\x10" + b"\1\1\0",  # an offset of 33 bits
        b"\0\0" + b"\xff" * 4 + b"\x0f" + b"\1\1\0",  # one of 32 bits
        b"\0\0" + b"\x80\x80\x80\x80\x00" + b"\1\1\0",  # zero in five bytes
        b"\0\0\0\1\1" + zigzag(65) + b"\0\0" * 65,  # more headers than columns take
        b"\0\0\0\1\1\1",  # a negative number of headers
        b"",
    ],
)
def test_edges_of_varints(body: bytes) -> None:
    batch = whole(batch_bytes(zigzag(len(body)) + body))
    (found,), (right,) = by_columns([batch]), one_by_one([batch])
    assert found == right or (found is None and len(body) > 100)


@pytest.mark.usefixtures("few")
def test_a_record_that_reaches_into_the_next_batch_fits_neither_way() -> None:
    """In one buffer its bytes would make sense: its value would be the next batch's record."""
    behind = record_bytes(value=b"next")
    body = (
        b"\0\0\0\1" + zigzag(len(behind) + 2) + b"vv"
    )  # value: these two bytes, and what follows; no headers
    first = whole(batch_bytes(zigzag(len(body) + len(behind)) + body))
    second = whole(batch_bytes(behind))
    assert by_columns([first, second]) == one_by_one([first, second])
    tail = b"\0\0\0\1" + zigzag(
        len(behind) - 1
    )  # the value ends one byte before the next record: its header count
    first = whole(batch_bytes(zigzag(len(tail) + len(behind)) + tail))
    assert by_columns([first, second]) == one_by_one([first, second])


@pytest.mark.parametrize("part", [b"\0\0\0", b"\0\0\0\1", b"\0\0\0\1\1\2"])
def test_lengths_past_the_end_of_all_bytes(part: bytes) -> None:
    body = part + zigzag(1 << 30)
    batch = whole(batch_bytes(zigzag(len(body)) + body))
    assert by_columns([batch]) == one_by_one([batch]) == [None]
