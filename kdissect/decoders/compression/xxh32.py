"""The checksum in the header of an lz4 frame: XXH32 of a few bytes.

Specification: xxhash_spec.md, "XXH32 Algorithm Description". A frame's descriptor has at most 14 bytes, so
the part for 16 bytes and more is not needed, and neither is a library.
"""

from kdissect.model.wording import plural

MAX_INPUT = 15
_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME_4, _PRIME_5 = 0x27D4EB2F, 0x165667B1
_MASK = 0xFFFFFFFF


def xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of at most `MAX_INPUT` bytes."""
    if len(data) > MAX_INPUT:
        raise ValueError(f"{plural(len(data), 'byte')}: more than a frame's descriptor has")
    total = _PRIME_5 + len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little")
        total = _rotate(total + word * _PRIME_3 & _MASK, 17) * _PRIME_4
    for byte in data[whole:]:
        total = _rotate(total + byte * _PRIME_5 & _MASK, 11) * _PRIME_1
    total &= _MASK
    total = (total ^ total >> 15) * _PRIME_2 & _MASK
    total = (total ^ total >> 13) * _PRIME_3 & _MASK
    return total ^ total >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
