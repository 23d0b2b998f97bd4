"""The one loop over records that fit, held equal to the reader that also tells what does not."""

from hypothesis import example, given
from hypothesis import strategies as st

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.plain_records import PLAIN_RECORDS, plain_records
from kdissect.decoders.records.records_v2 import iter_records_v2
from kdissect.model.record_batch import Record, RecordBatch, RecordFault
from tests.support.messages.batches import batch_bytes, record_bytes

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


def slowly(batch: RecordBatch, data: bytes) -> tuple[list[Record], list[RecordFault]]:
    faults: list[RecordFault] = []
    return list(iter_records_v2(batch, data, 0, len(data), faults, inside=False)), faults


@given(st.lists(_records, min_size=1, max_size=5))
def test_records_that_fit_are_read_here(records: list[bytes]) -> None:
    batch, data = batch_of(*records), b"".join(records)
    assert (plain_records(batch, data, 0, len(data)), []) == slowly(batch, data)


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
    plain = plain_records(batch, bytes(data), 0, len(data))
    found, faults = slowly(batch, bytes(data))
    assert plain == (None if faults else found)


@given(st.lists(st.integers(0, 255), max_size=20).map(bytes))
@example(b"\x01")
@example(b"\x00")
@example(b"\x0c\x00\x00\x00\x01\x01")
def test_any_bytes_end(data: bytes) -> None:
    batch = batch_of(record_bytes())
    plain = plain_records(batch, data, 0, len(data))
    found, faults = slowly(batch, data)
    assert plain == (None if faults else found)


def test_no_long_list_is_made() -> None:
    batch = batch_of(record_bytes())
    batch.count = PLAIN_RECORDS + 1
    assert plain_records(batch, record_bytes(), 0, len(record_bytes())) is None
