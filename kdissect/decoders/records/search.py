"""Finds the next batch after a wrong length: by its checksum, which no other bytes have by chance."""

import zlib

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

# Bounds on the work that crafted bytes can cause in one records field, some 20 milliseconds: places that look
# like a header, and bytes to run checksums over. A real batch is found after a handful of each.
MAX_CANDIDATES = 60_000
MAX_CHECKED = 32 << 20


ANY_MAGIC = (CURRENT_MAGIC, 1, 0)


class Effort:
    """Remaining effort for searching one records field, however many batches in it are damaged."""

    __slots__ = ("bytes", "candidates")

    def __init__(self) -> None:
        self.candidates = MAX_CANDIDATES
        self.bytes = MAX_CHECKED


def find_batch(
    data: bytes, start: int, end: int, magics: tuple[int, ...] = ANY_MAGIC, effort: Effort | None = None
) -> int | None:
    """Return the offset of the first batch with a right checksum, of the first magic that has such a batch.

    None without, and where `effort` is spent.
    """
    effort = effort or Effort()
    for magic in magics:
        found = _find(data, start, end, magic, effort)
        if found is not None:
            return found
    return None


def _find(data: bytes, start: int, end: int, magic: int, effort: Effort) -> int | None:
    mark = bytes((magic,))
    place = start + MAGIC_AT - 1
    while effort.candidates > 0 and effort.bytes >= 0:
        effort.candidates -= 1
        place = data.find(mark, place + 1, end)
        if place < 0:
            return None
        at = place - MAGIC_AT
        length = int.from_bytes(data[at + LENGTH_AT : at + OVERHEAD], signed=True)
        if not MIN_SIZE[magic] - OVERHEAD <= length <= end - at - OVERHEAD:
            continue
        if _checksum_is_right(data, at, at + OVERHEAD + length, magic):
            return at
        effort.bytes -= length
    return None


def _checksum_is_right(data: bytes, at: int, end: int, magic: int) -> bool:
    view = memoryview(data)
    if magic == CURRENT_MAGIC:
        told = HEADER_V2.unpack_from(data, at)[4]
        return bool(crc32c(view[at + ATTRIBUTES_AT : end]) == told)
    return zlib.crc32(view[at + MAGIC_AT : end]) == int.from_bytes(data[at + OVERHEAD : at + MAGIC_AT])
