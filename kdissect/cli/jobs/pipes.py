"""Messages from workers: a marshalled value and bytes next to it, each after its length.

Lines are outside of the value: marshalled they would be copied twice more, and they are nearly all of the
bytes.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from struct import Struct
from typing import Any

_HEAD = Struct(">QQ")
# Size of a pipe, if the system can change it (Linux: F_SETPIPE_SZ, fcntl(2)): each time it is full both ends
# stop.
_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031


def widen(pipe: int) -> None:
    """Give a pipe more room, if the system lets us."""
    try:
        from fcntl import fcntl  # Windows has none

        fcntl(pipe, _F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, OSError):
        return


def send(pipe: int, value: Any, parts: Sequence[bytes]) -> None:
    """Write one message: a value of plain types, and bytes. Raises BrokenPipeError without a reader."""
    data = marshal.dumps(value)
    size = sum(map(len, parts))
    rest = memoryview(b"".join((_HEAD.pack(len(data), size), data, *parts)))
    while rest:
        rest = rest[os.write(pipe, rest) :]


def receive(pipe: int) -> tuple[Any, memoryview]:
    """Return the next message. Raises EOFError if the other end is closed."""
    size, beside = _HEAD.unpack(_read(pipe, _HEAD.size))
    value = marshal.loads(_read(pipe, size))  # from a worker process
    return value, _read(pipe, beside).toreadonly()


def _read(pipe: int, size: int) -> memoryview:
    whole = memoryview(bytearray(size))
    at = 0
    while at < size:
        count = os.readv(pipe, [whole[at:]])
        if not count:
            raise EOFError
        at += count
    return whole
