"""Bytes that replace bytes of a frame."""

from collections.abc import Sequence
from typing import NamedTuple

FILLER = b"x"  # fits text, bytes and base64


class Patch(NamedTuple):
    """Bytes to be put over those at `start` of a frame's content."""

    start: int
    data: bytes


def patched(content: bytes, patches: Sequence[Patch], start: int = 0, end: int | None = None) -> bytes:
    """Return the content from `start` to `end`, with what the patches put there."""
    out = bytearray(content[start:end])
    for at, data in patches:
        low, high = max(at, start), min(at + len(data), start + len(out))
        if low < high:
            out[low - start : high - start] = data[low - at : high - at]
    return bytes(out)
