"""A segment in pieces of any size: the same batches, the same faults at the same places of the file."""

import pytest

from kdissect.engine.segments import segment_reader
from kdissect.engine.segments.segment_reader import SegmentReader
from tests.engine.segments.test_batch_positions import batch
from tests.support.messages.batches import batch_bytes, record_bytes

BATCHES = batch(0, 2), batch(2), batch(3, 3)


def read(data: bytes, size: int) -> tuple[list[tuple[int, int, int]], list[tuple[str, int]], int]:
    """Return batches as number, position and offset; faults as path and position; zeros at the end."""
    reader = SegmentReader()
    found = []
    for start in range(0, len(data), size):
        found += list(reader.feed(data[start : start + size]))
    found += list(reader.close())
    rows = [(placed.number, placed.position, placed.batch.base_offset) for placed in found]
    return rows, [(fault.path, fault.offset) for fault in reader.faults], reader.padding


@pytest.mark.parametrize("size", [1, 7, 60, 1000])
@pytest.mark.parametrize("zeros", [0, 1, 11, 12, 13, 200])
def test_pieces_make_no_difference(size: int, zeros: int) -> None:
    whole = b"".join(BATCHES)
    starts = [0, len(BATCHES[0]), len(BATCHES[0] + BATCHES[1])]
    rows, faults, padding = read(whole + bytes(zeros), size)
    assert rows == list(zip(range(3), starts, (0, 2, 3), strict=True))
    assert (faults, padding) == ([], zeros)


@pytest.mark.parametrize("size", [1, 7, 60, 1000])
def test_a_cut_batch_is_a_fault_at_its_place(size: int) -> None:
    """The file ends in it: a broker died there."""
    whole = b"".join(BATCHES)
    rows, faults, padding = read(whole[:-1], size)
    assert [number for number, *_ in rows] == [0, 1]
    assert [(path, at - 8) for path, at in faults] == [("batches[2].length", len(BATCHES[0] + BATCHES[1]))]
    assert padding == 0


def test_a_batch_is_given_as_soon_as_it_is_whole() -> None:
    reader = SegmentReader()
    data = b"".join(BATCHES)
    given = [len(list(reader.feed(data[at : at + 1]))) for at in range(len(data))]
    ends = [len(BATCHES[0]), len(BATCHES[0] + BATCHES[1]), len(data)]
    assert [at + 1 for at, count in enumerate(given) if count] == ends


@pytest.mark.parametrize("size", [13, 200, 1000])
def test_a_batch_in_a_record_is_not_one_of_the_file(size: int) -> None:
    """The outer batch arrives in pieces, and a piece may end behind the whole inner batch."""
    value = batch(7) + bytes(300)
    outer = batch_bytes(record_bytes(value=value))
    assert read(outer + BATCHES[1], size) == ([(0, 0, 0), (1, len(outer), 2)], [], 0)


@pytest.mark.parametrize(("held", "is_fault"), [(111, False), (112, False), (113, True)])
def test_a_batch_that_no_broker_would_take_is_not_waited_for(
    held: int, is_fault: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offset and length are 12 bytes of a batch, and do not count in its length."""
    monkeypatch.setattr(segment_reader, "MAX_BATCH", 100)
    reader = SegmentReader()
    assert list(reader.feed(batch(0, length=1000).ljust(held, b"x"))) == []
    assert [fault.why for fault in reader.faults] == ["more than 100 bytes for one batch"] * is_fault
