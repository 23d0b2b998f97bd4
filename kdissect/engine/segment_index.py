"""Checks the index files beside a segment against its batches.

Formats: org.apache.kafka.storage.internals.log.OffsetIndex and TimeIndex.
"""

import struct
from bisect import bisect_right

from kdissect.engine.segment_reader import PlacedBatch

OFFSET_ENTRY = struct.Struct(">ii")  # offset, counted from the segment's base offset; position in the segment
TIME_ENTRY = struct.Struct(">qi")  # timestamp in milliseconds; offset, counted from the base offset
# One index has at most segment.index.bytes (10 MiB), so 1.3 million entries. People look at the first few.
MAX_FAULTS = 20


class SegmentPlaces:
    """Where the batches of a segment are, for looking entries up: 40 bytes a batch."""

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.last_offset = base_offset - 1
        self._positions: list[int] = []
        self._offsets: list[int] = []

    def add(self, placed: PlacedBatch) -> None:
        """The next batch."""
        batch = placed.batch
        self._positions.append(placed.position)
        self._offsets.append(batch.base_offset if batch.magic > 1 else self.last_offset + 1)
        self.last_offset = max(self.last_offset, batch.last_offset)

    def first_offset_at(self, position: int) -> int | None:
        """First offset of the batch that begins at a position; None where none does."""
        index = bisect_right(self._positions, position) - 1
        if index < 0 or self._positions[index] != position:
            return None
        return self._offsets[index]


def offset_index_faults(data: bytes, places: SegmentPlaces) -> list[str]:
    """What is wrong with the content of an `.index` file, a line each with the byte of the entry."""
    faults = _length_fault(data, OFFSET_ENTRY.size)
    last = (-1, -1)
    for at in range(0, len(data) - OFFSET_ENTRY.size + 1, OFFSET_ENTRY.size):
        entry = OFFSET_ENTRY.unpack_from(data, at)
        if entry == (0, 0) and (at > 0 or not data.strip(b"\0")):
            break  # room that was allocated beforehand
        offset, position = places.base_offset + entry[0], entry[1]
        first = places.first_offset_at(position)
        if entry[0] <= last[0] or position <= last[1]:
            faults.append(f"entry {entry} at byte {at} does not follow {last}")
        elif first is None:
            faults.append(f"entry at byte {at}: no batch begins at position {position}")
        elif not first <= offset <= places.last_offset:
            faults.append(f"entry at byte {at}: offset {offset} is not in the batches from offset {first} on")
        last = entry
        if len(faults) >= MAX_FAULTS:
            break
    return faults


def time_index_faults(data: bytes, places: SegmentPlaces) -> list[str]:
    """What is wrong with the content of a `.timeindex` file."""
    faults = _length_fault(data, TIME_ENTRY.size)
    last = (-1, -1)
    for at in range(0, len(data) - TIME_ENTRY.size + 1, TIME_ENTRY.size):
        entry = TIME_ENTRY.unpack_from(data, at)
        if entry == (0, 0) and (at > 0 or not data.strip(b"\0")):
            break
        offset = places.base_offset + entry[1]
        if entry[0] < last[0] or entry[1] < last[1]:
            faults.append(f"entry {entry} at byte {at} does not follow {last}")
        elif not places.base_offset <= offset <= places.last_offset:
            faults.append(f"entry at byte {at}: offset {offset} is not in the segment")
        last = entry
        if len(faults) >= MAX_FAULTS:
            break
    return faults


def _length_fault(data: bytes, width: int) -> list[str]:
    left = len(data) % width
    return [f"{left} bytes behind the last entry at byte {len(data) - left}"] if left else []
