"""Finds the next batch where lengths lead nowhere: by its checksum, which no other bytes have by chance."""

import zlib

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

# Bounds on the work that crafted bytes can cause, a few milliseconds: places that look like a header, and
# bytes to run checksums over. Real ones are found after a handful of each.
MAX_PLACES = 20_000
MAX_CHECKED = 32 << 20


ANY_MAGIC = (CURRENT_MAGIC, 1, 0)


def find_batch(data: bytes, start: int, end: int, magics: tuple[int, ...] = ANY_MAGIC) -> int | None:
    """Offset of the first batch of the first magic of which there is one with a right checksum.

    None without.
    """
    for magic in magics:
        found = _find(data, start, end, magic)
        if found is not None:
            return found
    return None


def _find(data: bytes, start: int, end: int, magic: int) -> int | None:
    mark = bytes((magic,))
    left = MAX_CHECKED
    place = start + MAGIC_AT - 1
    for _ in range(MAX_PLACES):
        place = data.find(mark, place + 1, end)
        if place < 0:
            return None
        at = place - MAGIC_AT
        length = int.from_bytes(data[at + LENGTH_AT : at + OVERHEAD], signed=True)
        if not MIN_SIZE[magic] - OVERHEAD <= length <= end - at - OVERHEAD:
            continue
        if _checksum_is_right(data, at, at + OVERHEAD + length, magic):
            return at
        left -= length
        if left < 0:
            return None
    return None


def _checksum_is_right(data: bytes, at: int, end: int, magic: int) -> bool:
    view = memoryview(data)
    if magic == CURRENT_MAGIC:
        told = HEADER_V2.unpack_from(data, at)[4]
        return bool(crc32c(view[at + ATTRIBUTES_AT : end]) == told)
    return zlib.crc32(view[at + MAGIC_AT : end]) == int.from_bytes(data[at + OVERHEAD : at + MAGIC_AT])
