"""A small snappy compressor, so that the generator's bytes depend on no binding.

Format: format_description.txt of google/snappy. Greedy, with one dictionary of 4-byte strings a block.
"""

from __future__ import annotations

import struct

XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
"""Magic, version and lowest compatible version of snappy-java's stream, which Kafka's clients write."""
XERIAL_BLOCK = 32 * 1024  # snappy-java's default block; offsets stay below 2**16, so two-byte copies suffice
MAX_COPY = 64  # longest copy of a two-byte-offset element
MIN_MATCH = 4


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _literal(out: bytearray, data: bytes) -> None:
    length = len(data) - 1
    if length < 60:  # lengths to 60 stand in the tag, longer ones in 1 or 2 bytes behind it (section 2.1)
        out.append(length << 2)
    elif length < 256:
        out += bytes((60 << 2, length))
    else:
        out.append(61 << 2)
        out += struct.pack("<H", length)
    out += data


def _match_length(data: bytes, here: int, there: int) -> int:
    """Return how far both places agree, at most MAX_COPY: found by halves, as comparing slices is
    one C call.
    """
    length = MIN_MATCH
    for step in (32, 16, 8, 4, 2, 1):
        if length + step <= MAX_COPY:
            start, earlier = here + length, there + length
            # At the end of the data the slices differ in length, so they differ.
            if data[start : start + step] == data[earlier : earlier + step]:
                length += step
    return length


def compress(data: bytes) -> bytes:
    """Raw snappy of one block of at most 64 KiB."""
    out = bytearray(_varint(len(data)))
    seen: dict[bytes, int] = {}
    position = start = 0
    while position + MIN_MATCH <= len(data):
        word = data[position : position + MIN_MATCH]
        earlier = seen.get(word)
        seen[word] = position
        if earlier is None:
            position += 1
            continue
        if start < position:
            _literal(out, data[start:position])
        length = _match_length(data, position, earlier)
        out.append((length - 1) << 2 | 2)  # copy with a two-byte offset (section 2.2.2)
        out += struct.pack("<H", position - earlier)
        position += length
        start = position
    if start < len(data):
        _literal(out, data[start:])
    return bytes(out)


def compress_xerial(data: bytes) -> bytes:
    """Return the framed stream of snappy-java: header, then (int32 length, raw snappy) blocks."""
    out = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK):
        block = compress(data[start : start + XERIAL_BLOCK])
        out += (struct.pack(">i", len(block)), block)
    return b"".join(out)
