"""Where the batches of a segment are, as its index files are compared with them."""

import pytest

from kdissect.engine.segments import batch_positions
from kdissect.engine.segments.batch_positions import AbortedTransaction, SegmentPlaces
from kdissect.engine.segments.segment_reader import SegmentReader
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes

LARGEST = 2**63 - 1


def places_of(data: bytes, base_offset: int = 0) -> SegmentPlaces:
    """Return the batches of a segment."""
    places, reader = SegmentPlaces(base_offset), SegmentReader()
    for placed in (*reader.feed(data), *reader.close()):
        places.add(placed)
    return places


def batch(base_offset: int, count: int = 1, **fields: int) -> bytes:
    """Return a batch of `count` records without content."""
    return batch_bytes(record_bytes() * count, count, base_offset=base_offset, **fields)


def test_batches_are_found_by_the_byte_they_begin_at() -> None:
    first = batch(5, 2)
    places = places_of(first + batch(7), base_offset=5)
    assert places.last_offset == 7
    assert places.first_offset_at(0) == 5
    assert places.first_offset_at(len(first)) == 7
    for position in (-1, 1, len(first) - 1, len(first) + 1):
        assert places.first_offset_at(position) is None


def test_an_empty_segment_has_no_batch_and_no_time() -> None:
    places = places_of(b"", base_offset=5)
    assert places.last_offset == 4
    assert places.first_offset_at(0) is None
    assert places.timestamp_of(5) is None


def test_times_belong_to_all_offsets_of_their_batch() -> None:
    data = batch(5, 2, max_timestamp=100) + batch(7, max_timestamp=-1) + batch(8, max_timestamp=90)
    places = places_of(data, base_offset=5)
    assert [places.timestamp_of(offset) for offset in range(4, 10)] == [100, 100, 100, None, 90, None]


def test_old_messages_begin_after_those_before() -> None:
    """The offset of a message of magic 1 is that of its last record (spec/001 "Message sets")."""
    first = message_bytes(b"a", offset=5)
    places = places_of(first + message_bytes(b"b", offset=9), base_offset=3)
    assert places.first_offset_at(0) == 3
    assert places.first_offset_at(len(first)) == 6
    assert places.last_offset == 9


def test_offsets_of_damaged_batches_end_at_the_largest() -> None:
    """Offsets are int64; that of a damaged batch and its delta may add up to more."""
    first = batch(LARGEST, last_delta=5)
    places = places_of(first + message_bytes(b"a", offset=LARGEST))
    assert places.last_offset == LARGEST
    assert places.first_offset_at(0) == LARGEST
    assert places.first_offset_at(len(first)) == LARGEST


def test_offsets_never_go_back() -> None:
    places = places_of(batch(7) + batch(3, max_timestamp=50))
    assert places.last_offset == 7
    assert places.timestamp_of(8) is None


def test_as_many_aborted_transactions_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_positions, "MAX_ABORTED", 2)
    places = SegmentPlaces(0)
    for marker in (3, 5, 9):
        places.add_aborted(marker, AbortedTransaction(7, marker - 1))
    assert places.aborted == {3: AbortedTransaction(7, 2), 5: AbortedTransaction(7, 4)}
