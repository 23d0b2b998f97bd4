"""gzip (RFC 1952): codec 1."""

import sys
import zlib
from contextlib import suppress
from typing import Any

from kdissect.model.errors import DecodeError, OutputLimitError

_GZIP_FORMAT = 16 + zlib.MAX_WBITS  # this makes zlib use the format of RFC 1952 instead of RFC 1950
# isal takes 2 us longer to set up a stream and is 2 to 3 times as fast in it: it wins from about here on.
_ISAL_FROM = 2048
# Bytes given at once to a member that is not the first: what follows a member is copied, and a stream may
# have fifty thousand of 20 bytes in a MB.
_SMALL = 1 << 12


_fast: Any = None
with suppress(ImportError):  # the extra `fast`
    from isal import isal_zlib

    _fast = isal_zlib


def faster_from() -> int:
    """From how many bytes on a member is decompressed faster here than by the compiled hot path."""
    return _ISAL_FROM if _fast is not None else sys.maxsize


def decompress_gzip(data: memoryview, limit: int) -> bytes:
    """Return all members of the stream, one behind the other. Raises DecodeError, OutputLimitError.

    Bytes after the last member that do not start another member are ignored, as java.util.zip.GZIPInputStream
    does.
    """
    parts: list[bytes] = []
    left = limit
    first = len(data)
    while True:
        content, data = _member(data, left, first)
        parts.append(content)
        left -= len(content)
        first = _SMALL
        if bytes(data[:2]) != b"\x1f\x8b":  # RFC 1952 section 2.3.1: ID1 and ID2
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _member(data: memoryview, limit: int, first: int) -> tuple[bytes, memoryview]:
    """Return one member, given in two parts of which one has `first` bytes, and what follows it."""
    library: Any = _fast if _fast is not None and len(data) > _ISAL_FROM else zlib
    stream = library.decompressobj(_GZIP_FORMAT)
    try:
        content: bytes = stream.decompress(data[:first], limit + 1)
        if not stream.eof and len(content) <= limit and len(data) > first:
            content += stream.decompress(data[first:], limit + 1 - len(content))
            first = len(data)
    except Exception as error:  # zlib.error, isal.IsalError: the latter has no common base
        raise DecodeError("gzip", 0, f"bytes are not gzip ({error})") from None
    if len(content) > limit:
        raise OutputLimitError("gzip", 0, f"bytes grow beyond {limit}")
    if not stream.eof:
        raise DecodeError("gzip", len(data), "the stream ends early")
    return content, data[min(first, len(data)) - len(stream.unused_data) :]
