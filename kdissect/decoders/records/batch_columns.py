"""The batches of many records fields at once, headers as columns. Needs numpy (extra `arrow`)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdissect.decoders.records.batch_layout import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER_V2,
    LENGTH_AT,
    MAGIC_AT,
    MIN_SIZE,
    OVERHEAD,
)
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.lockstep import FEW, Flags, Ints, windows

# layout.HEADER_V2 for numpy.
HEADER_DTYPE = np.dtype(
    [
        ("base_offset", ">i8"), ("length", ">i4"), ("leader_epoch", ">i4"), ("magic", "i1"), ("crc", ">u4"),
        ("attributes", ">i2"), ("last_offset_delta", ">i4"), ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"), ("producer_id", ">i8"), ("producer_epoch", ">i2"), ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)  # fmt: skip


class BatchColumns:
    """One row a batch of magic 2, in their order: `section` is the index of its field, `start` and `end` its
    place, `header` the fields of `HEADER_DTYPE`.

    `rest` says for each field where its batches end: bytes behind that are none, or a cut batch.
    """

    __slots__ = ("end", "header", "rest", "section", "start")

    def __init__(self, section: Ints, start: Ints, end: Ints, header: NDArray[Any], rest: Ints) -> None:
        self.section = section
        self.start = start
        self.end = end
        self.header = header
        self.rest = rest


def batch_columns(data: bytes, starts: Ints, ends: Ints) -> BatchColumns:
    """The batches in `data[starts[i]:ends[i]]`, checksums not looked at. Raises nothing.

    `data` must be `lockstep.padded`.
    """
    cursors = starts.copy()
    steps = []
    active = _next(data, np.arange(len(starts)), cursors, ends)
    while len(active[0]) > FEW:
        steps.append(active)
        cursors[active[0]] = active[2]
        active = _next(data, active[0], cursors, ends)
    for section in active[0].tolist():
        begins, behinds = _walk_one(data, int(cursors[section]), int(ends[section]))
        cursors[section] = behinds[-1]
        steps.append((np.full(len(begins), section), np.array(begins), np.array(behinds)))
    return _sorted(data, steps, cursors)


def _next(data: bytes, sections: Ints, cursors: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """One more batch of each of `sections` that has one: their numbers, starts and ends."""
    at = cursors[sections]
    room = ends[sections] - at
    fits = room >= MIN_SIZE[CURRENT_MAGIC]
    sections, at, room = sections[fits], at[fits], room[fits]
    magic = np.frombuffer(data, np.uint8)[at + MAGIC_AT]
    size = windows(data, at + LENGTH_AT, OVERHEAD - LENGTH_AT).view(">i4").astype(np.int64) + OVERHEAD
    fits = (magic == CURRENT_MAGIC) & (size <= room) & (size >= HEADER_V2.size)
    return sections[fits], at[fits], (at + size)[fits]


def _walk_one(data: bytes, at: int, end: int) -> tuple[list[int], list[int]]:
    """Starts and ends of the batches of one field."""
    begins, behinds = [], []
    while end - at >= MIN_SIZE[CURRENT_MAGIC] and data[at + MAGIC_AT] == CURRENT_MAGIC:
        behind = at + OVERHEAD + int.from_bytes(data[at + LENGTH_AT : at + OVERHEAD], signed=True)
        if behind > end or behind < at + HEADER_V2.size:
            break
        begins.append(at)
        behinds.append(behind)
        at = behind
    return begins, behinds


def _sorted(data: bytes, steps: list[tuple[Ints, Ints, Ints]], rests: Ints) -> BatchColumns:
    none = (np.zeros(0, np.int64),) * 3
    section, begin, end = (np.concatenate(parts) for parts in zip(none, *steps, strict=True))
    if len(steps) > 1:  # fields stand one behind the other in the buffer
        order = np.argsort(begin, kind="stable")
        section, begin, end = section[order], begin[order], end[order]
    header = windows(data, begin, HEADER_V2.size).view(HEADER_DTYPE)
    return BatchColumns(section, begin, end, header, rests)


def checksums_are_right(data: bytes, batches: BatchColumns) -> Flags:
    """For each batch whether its CRC-32C is that of its bytes."""
    view = memoryview(data)
    places = zip(batches.start.tolist(), batches.end.tolist(), strict=True)
    found = [crc32c(view[start + ATTRIBUTES_AT : end]) for start, end in places]
    right: Flags = np.array(found, np.int64) == batches.header["crc"]
    return right
