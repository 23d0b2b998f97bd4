"""The batches of many records fields at once, headers as columns. Needs numpy (extra `arrow`)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.layout import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER_V2,
    LENGTH_AT,
    MAGIC_AT,
    MIN_SIZE,
    OVERHEAD,
)
from kdissect.decoders.records.lockstep import Flags, Ints

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
    sections, begins, rests = [], [], []
    # Not in lockstep: a produce request has one batch, a response a few; a Python loop is 0.3 us a batch.
    for section, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        at = start
        while end - at >= MIN_SIZE[CURRENT_MAGIC] and data[at + MAGIC_AT] == CURRENT_MAGIC:
            behind = at + OVERHEAD + int.from_bytes(data[at + LENGTH_AT : at + OVERHEAD], signed=True)
            if behind > end or behind < at + HEADER_V2.size:
                break
            sections.append(section)
            begins.append(at)
            at = behind
        rests.append(at)
    begin = np.array(begins, np.int64)
    buffer = np.frombuffer(data, np.uint8)
    header = buffer[begin[:, None] + np.arange(HEADER_V2.size)].view(HEADER_DTYPE)[:, 0]
    end = begin + OVERHEAD + header["length"].astype(np.int64)
    return BatchColumns(np.array(sections, np.int64), begin, end, header, np.array(rests, np.int64))


def checksums_are_right(data: bytes, batches: BatchColumns) -> Flags:
    """For each batch whether its CRC-32C is that of its bytes."""
    view = memoryview(data)
    places = zip(batches.start.tolist(), batches.end.tolist(), strict=True)
    found = [crc32c(view[start + ATTRIBUTES_AT : end]) for start, end in places]
    right: Flags = np.array(found, np.int64) == batches.header["crc"]
    return right
