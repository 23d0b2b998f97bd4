"""Zigzag varints of records (spec/001 "5.3.2.1 Record Header"): signed, unlike the lengths of messages."""

from kdissect.decoders.cursor import encode_uvarint
from kdissect.model.wording import plural

# 32 bits take at most 5 bytes, 64 bits 10 (org.apache.kafka.common.utils.internals.ByteUtils).
MAX_VARINT = 5
MAX_VARLONG = 10


def record_bounds(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return where the bytes of the record whose length is at `at` begin and end (spec/001 "5.3.2 Record").

    Raises ValueError, with the reason, if bytes are missing.
    """
    length, begin = varint(data, at, end)
    if length < 0 or begin + length > end:
        raise ValueError(f"length {length}, {plural(end - begin, 'byte follows', 'bytes follow')}")
    return begin, begin + length


def varint(data: bytes, at: int, end: int, most: int = MAX_VARINT) -> tuple[int, int]:
    """Return the zigzag varint at `at` and its end; `most` is its width in bytes.

    Raises ValueError, with the reason, past `end` and beyond the width.
    """
    value = shift = 0
    for place in range(at, at + most):
        if place >= end:
            raise ValueError("varint runs past the end")
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> (32 if most == MAX_VARINT else 64):
                break
            return (value >> 1) ^ -(value & 1), place + 1
        shift += 7
    raise ValueError(f"varint does not fit {32 if most == MAX_VARINT else 64} bits")


def encode_varint(value: int) -> bytes:
    """Return the zigzag varint of a number of at most 64 bits."""
    return encode_uvarint((value << 1) ^ (value >> 63))
