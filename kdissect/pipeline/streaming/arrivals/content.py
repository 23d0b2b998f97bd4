"""What tells one capture file from another, whatever it is called and wherever it lies."""

from __future__ import annotations

import os
from hashlib import blake2b

# Bytes at the beginning and at the end: some hundred packets with their times.
EDGE = 1 << 16


def content_id(path: str, size: int) -> str:
    """32 hex digits of the size and of what a file begins and ends with. Raises OSError."""
    digest = blake2b(size.to_bytes(8), digest_size=16)
    with open(path, "rb") as file:  # noqa: PTH123  paths stay strings, as in capture
        digest.update(file.read(EDGE))
        if size > EDGE:
            file.seek(max(EDGE, size - EDGE), os.SEEK_SET)
            digest.update(file.read(EDGE))
    return digest.hexdigest()


def head_id(path: str, size: int) -> str:
    """32 hex digits of the first `size` bytes, at most `EDGE`, which a file that grew has still.

    Raises OSError.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        return blake2b(file.read(min(size, EDGE)), digest_size=16).hexdigest()
