"""zlib data of a given length."""

import zlib

# Blocks of deflate without content (RFC 1951, sections 3.2.4 and 3.2.6): stored, and with the fixed codes.
_STORED = b"\0\0\0\xff\xff"
_FIXED, _LAST_FIXED, _FIXED_BITS = 0b010, 0b011, 10
_CHECKSUM_BYTES = 4


def zlib_of_length(data: bytes, length: int) -> bytes | None:
    """Return zlib data of `length` bytes; None if the data does not fit."""
    packer = zlib.compressobj(9)
    packed = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
    end = _end(length - len(packed) - _CHECKSUM_BYTES)
    return None if end is None else packed + end + zlib.adler32(data).to_bytes(_CHECKSUM_BYTES)


def _end(length: int) -> bytes | None:
    """Return blocks of `length` bytes without content, the last one marked."""
    if length < 2:
        return None
    stored, left = divmod(length - 2, len(_STORED))
    if left == len(_STORED) - 1:  # six bytes: a fixed block, and a stored one that is the last
        return _STORED * stored + (_FIXED | 1 << _FIXED_BITS).to_bytes(2, "little") + _STORED[1:]
    bits = sum(_FIXED << _FIXED_BITS * number for number in range(left))
    bits |= _LAST_FIXED << _FIXED_BITS * left
    return _STORED * stored + bits.to_bytes(left + 2, "little")
