"""Positions of a segment's batches, with which the files next to it are compared."""

from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from kdissect.engine.segments.segment_reader import PlacedBatch
from kdissect.model.record_batch import NO_TIMESTAMP

# 200 bytes each. A segment of 1 GiB with more contains little but markers.
MAX_ABORTED = 100_000
_MAX = (1 << 63) - 1  # offsets of a damaged batch may add up to more than an int64


class AbortedTransaction(NamedTuple):
    """A transaction whose abort marker was read; `first_offset` is None where its beginning was not."""

    producer_id: int
    first_offset: int | None


class SegmentPlaces:
    """Positions, offsets and times of a segment's batches, 32 bytes a batch, and its abort markers."""

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.last_offset = base_offset - 1
        self.aborted: dict[int, AbortedTransaction] = {}
        """By the offset of the marker. Only the first `MAX_ABORTED`."""
        self._positions = array("q")
        self._first_offsets = array("q")
        self._last_offsets = array("q")
        self._timestamps = array("q")

    def add(self, placed: PlacedBatch) -> None:
        """Add the next batch."""
        batch = placed.batch
        first = batch.base_offset if batch.magic > 1 else min(self.last_offset + 1, _MAX)
        self.last_offset = min(max(self.last_offset, batch.last_offset), _MAX)
        self._positions.append(placed.position)
        self._first_offsets.append(first)
        self._last_offsets.append(self.last_offset)
        self._timestamps.append(batch.max_timestamp)

    def add_aborted(self, marker: int, transaction: AbortedTransaction) -> None:
        """Note the offset of an abort marker."""
        if len(self.aborted) < MAX_ABORTED:
            self.aborted[marker] = transaction

    def first_offset_at(self, position: int) -> int | None:
        """Return the first offset of the batch that begins at a position; None without one."""
        index = bisect_right(self._positions, position) - 1
        if index < 0 or self._positions[index] != position:
            return None
        return self._first_offsets[index]

    def timestamp_of(self, offset: int) -> int | None:
        """Return the largest timestamp of the batch with an offset; None if no batch reaches it or has a
        time.
        """
        index = bisect_left(self._last_offsets, offset)
        if index == len(self._timestamps) or self._timestamps[index] == NO_TIMESTAMP:
            return None
        return self._timestamps[index]
