"""Counts the batches of a records field if only their correctness matters."""

from struct import Struct

from kdissect.decoders.records.batch_layout import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER_V2,
    LENGTH_AT,
    MIN_SIZE,
    OVERHEAD,
)
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.checksum import crc32c

# batchLength, magic, crc: the fields of HEADER_V2 that show whether a batch is whole, from LENGTH_AT on.
_HEAD = Struct(">i4xBI").unpack_from
_SHORTEST = MIN_SIZE[CURRENT_MAGIC] - OVERHEAD
# For a smaller size, a copy of the bytes costs less than two memoryviews (measured: at 16 KB the costs are
# equal).
COPIED = 8192


def count_batches(data: bytes, start: int, end: int, may_be_cut: bool) -> int:
    """Return how many batches stand in `data[start:end]`.

    `may_be_cut` is that of `split_batches`. Raises ValueError where anything at all is wrong with one of
    them, or with what stands between them.
    """
    size = end - start
    if size >= HEADER_V2.size:
        length, magic, crc = _HEAD(data, start + LENGTH_AT)
        if length == size - OVERHEAD and magic == CURRENT_MAGIC:  # nearly all records fields are one batch
            content = data if size < COPIED else memoryview(data)
            if crc32c(content[start + ATTRIBUTES_AT : end]) == crc:
                return 1
    return _count(data, start, end, may_be_cut) if size else 0


def _count(data: bytes, at: int, end: int, may_be_cut: bool) -> int:
    count = 0
    while end - at >= HEADER_V2.size:
        length, magic, crc = _HEAD(data, at + LENGTH_AT)
        behind = at + OVERHEAD + length
        if magic != CURRENT_MAGIC or length < _SHORTEST or behind > end:
            break
        if crc32c(memoryview(data)[at + ATTRIBUTES_AT : behind]) != crc:
            raise ValueError("wrong checksum")
        count += 1
        at = behind
    return count if at == end else count + _others(data, at, end, may_be_cut)


def _others(data: bytes, at: int, end: int, may_be_cut: bool) -> int:
    """Return the number of further batches: batches in the old formats, or a cut one."""
    found = split_batches(data, at, end, may_be_cut=may_be_cut)
    if found.faults or any(batch.faults for batch in found.batches):
        raise ValueError("odd batches")
    return len(found.batches)
