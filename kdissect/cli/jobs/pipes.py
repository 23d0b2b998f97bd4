"""Messages from workers: marshalled values, each behind its length."""

from __future__ import annotations

import marshal
import os
from typing import Any

_LENGTH_BYTES = 8


def send(handle: int, value: object) -> None:
    """Write one message. Raises BrokenPipeError where nobody listens any more."""
    data = marshal.dumps(value)
    rest = memoryview(len(data).to_bytes(_LENGTH_BYTES) + data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def receive(handle: int) -> Any:
    """The next message. Raises EOFError where the other end is gone."""
    return marshal.loads(_read(handle, int.from_bytes(_read(handle, _LENGTH_BYTES))))  # of our own process


def _read(handle: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(handle, size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
