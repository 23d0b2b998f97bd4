"""lz4 frames (lz4_Frame_format.md 1.6): codec 3, with the wrong header checksum of magic 0."""

from collections.abc import Iterator

import lz4.frame

from kdissect.model.errors import BrokenFrameError, DecodeError, OutputLimitError
from kdissect.model.wording import plural

_MAGIC = b"\x04\x22\x4d\x18"
_FLAGS = 4  # offset of FLG; BD, content size (8), dictionary id (4), header checksum (1) follow
_CONTENT_SIZE, _CONTENT_CHECKSUM, _DICTIONARY_ID = 0x08, 0x04, 0x01  # bits of FLG
_CHECKSUM_SIZE = 4  # of the content's checksum, after the last block
# A match length byte of 255 stands for 255 bytes, and no other encoding is tighter (lz4_Block_format.md).
_MAX_RATIO = 255
# xxhash_spec.md, "XXH32 Algorithm Description"
_MAX_INPUT = 15  # of bytes: below the 16 from which on XXH32 has lanes
_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME_4, _PRIME_5 = 0x27D4EB2F, 0x165667B1
_MASK = 0xFFFFFFFF


def decompress_lz4(data: memoryview, limit: int, is_legacy: bool) -> bytes:
    """Return the content of one frame. Raises DecodeError, OutputLimitError.

    A frame with a wrong content checksum, or with the header checksum of early clients, raises
    BrokenFrameError: Kafka's own readers do not look at the one, other readers not at the other. `is_legacy`:
    magic 0, where clients computed the header's checksum over the frame's magic number too (KAFKA-3160;
    KIP-57 put it right with magic 1). That magic accepts both checksums.
    """
    frame = _with_right_checksum(data) if is_legacy else data
    claimed = _claimed_size(frame)
    if claimed > _MAX_RATIO * len(frame):  # the library would believe it, and allocate
        raise DecodeError("lz4", 0, f"{plural(len(frame), 'byte')} cannot hold {claimed}")
    try:
        return _content(frame, limit)
    except (RuntimeError, EOFError, OSError) as error:
        for mended, why in _without_checksums(frame):
            try:
                content = _content(mended, limit)
            except OutputLimitError:
                raise
            except (DecodeError, RuntimeError, EOFError, OSError):
                continue  # something else is wrong as well
            raise BrokenFrameError("lz4", 0, why, content) from None
        raise DecodeError("lz4", 0, f"bytes are no lz4 frame ({error})") from None


def _content(frame: bytes | memoryview, limit: int) -> bytes:
    # A stream costs 40 us to set up. It is used only if the arithmetic does not bound the output.
    if len(frame) * _MAX_RATIO <= limit:
        content: bytes = lz4.frame.decompress(frame)
        return content
    return _bounded(frame, limit)


def _without_checksums(frame: bytes | memoryview) -> Iterator[tuple[bytes | memoryview, str]]:
    """Frames with the same blocks and right checksums or none, each with what is wrong in this one."""
    found = _checksum(memoryview(frame))
    if found is None:
        return
    at, right = found
    is_early = frame[at] != right and at <= _MAX_INPUT and frame[at] == _second_byte(bytes(frame[:at]))
    early = "the header's checksum covers the frame's magic number, too (KAFKA-3160)"
    if is_early:
        frame = _with_right_checksum(memoryview(frame))
        yield frame, early
    if frame[_FLAGS] & _CONTENT_CHECKSUM and len(frame) > at + _CHECKSUM_SIZE:
        flags = bytes((frame[_FLAGS] & ~_CONTENT_CHECKSUM,))
        bare = bytes(frame[:_FLAGS]) + flags + bytes(frame[_FLAGS + 1 : len(frame) - _CHECKSUM_SIZE])
        why = "the content's checksum is wrong"
        yield _with_right_checksum(memoryview(bare)), f"{early}, and {why}" if is_early else why


def _claimed_size(frame: bytes | memoryview) -> int:
    """Return the content size in a frame's header, or 0 without one."""
    start = _FLAGS + 2
    if len(frame) < start + 8 or frame[:_FLAGS] != _MAGIC or not frame[_FLAGS] & _CONTENT_SIZE:
        return 0
    return int.from_bytes(frame[start : start + 8], "little")


def _bounded(frame: bytes | memoryview, limit: int) -> bytes:
    stream = lz4.frame.LZ4FrameDecompressor()
    content: bytes = stream.decompress(frame, max_length=limit + 1)
    if len(content) > limit:
        raise OutputLimitError("lz4", 0, f"bytes grow beyond {limit}")
    if not stream.eof:
        raise DecodeError("lz4", len(frame), "the frame ends early")
    return content


def has_right_checksum(data: memoryview) -> bool | None:
    """Return whether a frame's header has the checksum of the frame format; None where the bytes are no
    frame.
    """
    found = _checksum(data)
    return None if found is None else data[found[0]] == found[1]


def _with_right_checksum(data: memoryview) -> bytes | memoryview:
    """Return the frame with the checksum that its header should have, or `data` itself if it is not a
    frame.
    """
    found = _checksum(data)
    if found is None or data[found[0]] == found[1]:
        return data
    at, right = found
    return b"".join((data[:at], bytes((right,)), data[at + 1 :]))


def xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of at most `_MAX_INPUT` bytes: a frame's descriptor has 14 at most."""
    if len(data) > _MAX_INPUT:
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


def _checksum(data: memoryview) -> tuple[int, int] | None:
    """Return where the header's checksum stands, and what it should be."""
    if len(data) < 7 or data[:_FLAGS] != _MAGIC:
        return None
    flags = data[_FLAGS]
    at = _FLAGS + 2 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY_ID else 0)
    return None if at >= len(data) else (at, _second_byte(bytes(data[_FLAGS:at])))


def _second_byte(data: bytes) -> int:
    """Return the second byte of the descriptor's XXH32, which a frame's header contains."""
    return xxh32(data) >> 8 & 0xFF
