"""zstd (RFC 8878): codec 4 (KIP-110)."""

from _thread import _local

import zstandard

from kdissect.model.errors import DecodeError, OutputLimitError

# Bytes given to the stream at a time. A block takes at least 4 bytes and gives at most 128 KiB (RFC 8878
# section 3.1.1.2), so that one step gives at most 32 MiB: that is how far the limit can be passed before it
# is seen.
_STEP = 1024


class _Own(_local):
    """A decompressor for each thread: one that two threads share corrupts what it gives."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


_own = _Own()


def decompress_zstd(data: memoryview, limit: int) -> bytes:
    """Return the content of all frames. Raises DecodeError, OutputLimitError."""
    try:
        if 0 < zstandard.frame_content_size(data) <= limit:
            return _at_once(data, limit)
        return _streamed(data, limit)
    except zstandard.ZstdError as error:
        raise DecodeError("zstd", 0, f"bytes are not zstd ({error})") from None


def _at_once(data: memoryview, limit: int) -> bytes:
    try:
        return _own.zstd.decompress(data, allow_extra_data=False)
    # a second frame after the first, or a broken one: the stream reader finds out
    except zstandard.ZstdError:
        return _streamed(data, limit)


def _streamed(data: memoryview, limit: int) -> bytes:
    """Return the step by step, as a frame may claim any size, or none."""
    parts: list[bytes] = []
    total = at = 0
    while at < len(data):
        frame = _own.zstd.decompressobj()
        while not frame.eof:
            if at >= len(data):
                raise DecodeError("zstd", len(data), "the frame ends early")
            parts.append(frame.decompress(data[at : at + _STEP]))
            at += _STEP
            total += len(parts[-1])
            if total > limit:
                raise OutputLimitError("zstd", 0, f"bytes grow beyond {limit}")
        at = min(at, len(data)) - len(frame.unused_data)
    return parts[0] if len(parts) == 1 else b"".join(parts)
