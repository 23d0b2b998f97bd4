"""Records as the compiled package reads them equal those of the reader that also says what does not fit."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import LISTED_RECORDS, read_records
from kdissect.decoders.records.records_v2 import iter_records_v2
from kdissect.model.native import native
from kdissect.model.record_batch import Record, RecordBatch, RecordFault
from tests.support.messages.batches import batch_bytes, record_bytes

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
_texts = st.one_of(st.none(), st.binary(max_size=300))
_records = st.builds(
    record_bytes,
    key=_texts,
    value=_texts,
    offset_delta=st.integers(-70, 20_000),
    timestamp_delta=st.integers(-(1 << 62), 1 << 62),
    headers=st.lists(st.tuples(st.text(max_size=5), _texts), max_size=3),
)


def batch_of(*records: bytes) -> RecordBatch:
    data = batch_bytes(b"".join(records), len(records))
    (batch,) = split_batches(data, 0, len(data)).batches
    return batch


def compiled(batch: RecordBatch, data: bytes) -> list[Record] | None:
    base = batch.base_offset, batch.base_timestamp
    return native.record_objects(Record, tuple.__new__, data, 0, len(data), batch.count or 0, base, None)


def slowly(batch: RecordBatch, data: bytes) -> tuple[list[Record], list[RecordFault]]:
    faults: list[RecordFault] = []
    return list(iter_records_v2(batch, data, 0, len(data), faults, inside=False)), faults


@given(st.lists(_records, min_size=1, max_size=5))
def test_records_that_fit_are_read_here(records: list[bytes]) -> None:
    batch, data = batch_of(*records), b"".join(records)
    assert (compiled(batch, data), []) == slowly(batch, data)


@given(st.lists(_records, min_size=1, max_size=3), st.data())
def test_what_does_not_fit_is_left_to_the_other_reader(records: list[bytes], draw: st.DataObject) -> None:
    batch, data = batch_of(*records), bytearray(b"".join(records))
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(data) - 1))
        if draw.draw(st.booleans()):
            data[at] = draw.draw(st.integers(0, 255))
        else:
            del data[at:]
            break
    if not data:
        return
    listed = compiled(batch, bytes(data))
    found, faults = slowly(batch, bytes(data))
    assert listed is None or (listed, []) == (found, faults)


@given(st.lists(st.integers(0, 255), max_size=20).map(bytes))
@example(b"\x01")
@example(b"\x00")
@example(b"\x0c\x00\x00\x00\x01\x01")
def test_any_bytes_end(data: bytes) -> None:
    batch = batch_of(record_bytes())
    listed = compiled(batch, data)
    found, faults = slowly(batch, data)
    assert listed is None or (listed, []) == (found, faults)


def test_numbers_beyond_64_bits_are_left_to_the_other_reader() -> None:
    batch = batch_of(record_bytes(timestamp_delta=1 << 62))
    batch.base_timestamp = 1 << 62
    assert compiled(batch, record_bytes(timestamp_delta=1 << 62)) is None
    assert [record.timestamp for record in read_records(batch).records] == [1 << 63]


def test_no_long_list_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def record_objects(*arguments: object) -> None:
        asked.append(len(arguments))

    monkeypatch.setattr(native, "record_objects", record_objects)
    batch = batch_of(record_bytes())
    read_records(batch)
    batch.count = LISTED_RECORDS + 1
    read_records(batch)
    assert len(asked) == 1
