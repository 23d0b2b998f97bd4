"""Batches that pass for usual hold nothing that a reader or a rule about records would speak of."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.canonical_batch import are_canonical
from kdissect.decoders.records.reader import read_records
from tests.support.messages.batches import batch_bytes, blob, record_bytes, zigzag

BASE = 1_700_000_000_000
HEADERS = [("trace", b"1"), ("empty", None)]


def usual(data: bytes, dense: bool = True) -> bool:
    (batch,) = split_batches(data, 0, len(data)).batches
    return are_canonical(batch, data, batch.records_start, batch.end, dense=dense)


def some(count: int, **options: object) -> bytes:
    return b"".join(
        record_bytes(
            offset_delta=n, timestamp_delta=n * 70, key=b"k" * n, value=b"v" * n * n, headers=HEADERS
        )
        for n in range(count)
    )


@pytest.mark.parametrize("count", [1, 2, 40, 300])
def test_what_producers_write(count: int) -> None:
    assert usual(batch_bytes(some(count), count, max_timestamp=BASE + (count - 1) * 70))
    assert usual(batch_bytes(b"", 0, last_delta=5), dense=False)
    null = record_bytes(key=None, value=None) + record_bytes(offset_delta=4)
    assert usual(batch_bytes(null, 2, last_delta=7, max_timestamp=BASE), dense=False)


@pytest.mark.parametrize(
    ("records", "header"),
    [
        (record_bytes(attributes=1), {}),
        (record_bytes(offset_delta=1), {}),
        (record_bytes(timestamp_delta=5), {"max_timestamp": BASE + 5}),
        (record_bytes(), {"max_timestamp": BASE + 1}),
        (record_bytes(), {"count": 2}),
        (record_bytes() + b"\0", {}),
        (zigzag(9) + bytes(3) + blob(None) + blob(b"v") + b"\0\0\0", {}),
        (zigzag(7) + bytes(3) + zigzag(-5) + blob(b"v") + b"\0\0", {}),
        (record_bytes(headers=[("\xe9", b"")]), {}),
        (record_bytes() + record_bytes(), {"count": 2}),
    ],
)
def test_what_is_odd(records: bytes, header: dict[str, int]) -> None:
    assert not usual(batch_bytes(records, **{"max_timestamp": BASE, **header}))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_changed_bytes_are_odd_or_harmless(data: st.DataObject) -> None:
    """Whatever is changed, a batch that passes is read without a fault, and by the book."""
    records = bytearray(some(5))
    for _ in range(data.draw(st.integers(1, 3))):
        records[data.draw(st.integers(0, len(records) - 1))] = data.draw(st.integers(0, 255))
    written = batch_bytes(bytes(records), 5, max_timestamp=BASE + 280)
    (batch,) = split_batches(written, 0, len(written)).batches
    if are_canonical(batch, written, batch.records_start, batch.end, dense=True):
        found = read_records(batch)
        assert not found.faults
        assert [record.offset for record in found.records] == list(range(5))
        assert not any(record.attributes for record in found.records)
        assert found.records[0].timestamp == BASE
        assert max(record.timestamp for record in found.records) == BASE + 280
        assert all(isinstance(key, str) for record in found.records for key, _ in record.headers)
