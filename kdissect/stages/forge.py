"""Four bytes that give a message the checksum one wants.

A CRC is a shift register: from the value wanted at the end one can step back over four bytes, which are then
what leads there from the value before them.
"""

from __future__ import annotations

from functools import cache

# Reflected polynomials: CRC-32C (RFC 3720 appendix B.4), CRC-32 (ISO 3309, RFC 1952 section 8).
CASTAGNOLI = 0x82F63B78
IEEE = 0xEDB88320
FORGED_BYTES = 4
_ALL = 0xFFFFFFFF  # registers begin and end inverted


def forged(polynomial: int, before: int, wanted: int) -> bytes:
    """The bytes to put behind a message of checksum `before`, so that the whole has the checksum `wanted`."""
    table, index_of = _tables(polynomial)
    register = wanted ^ _ALL
    for _ in range(FORGED_BYTES):
        index = index_of[register >> 24]
        register = ((register ^ table[index]) << 8 | index) & _ALL
    return (register ^ before ^ _ALL).to_bytes(FORGED_BYTES, "little")


@cache
def _tables(polynomial: int) -> tuple[list[int], list[int]]:
    """What each byte adds to the register, and which byte does by the highest byte of that."""
    table = []
    for byte in range(256):
        register = byte
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
        table.append(register)
    index_of = [0] * 256
    for byte, register in enumerate(table):
        index_of[register >> 24] = byte
    return table, index_of
