"""A bounded file for frames that cannot be read again: of streams, compressed captures and TLS.

One process writes, another reads: blocks are numbered for ever and stand at their number modulo the bound, so
what is new takes the place of what is oldest. Each frame begins with its number and length, by which a reader
sees whether it still stands there. The file has no name, and is gone with the processes.
"""

from __future__ import annotations

import os
from struct import Struct

from kdissect.engine.exchange_log.logged_frames import Found

BLOCK = 16  # bytes; block numbers are 32 bits wide: 64 GiB can go by
# Bytes on disk: an hour of a busy broker's connection at 500 KB/s, and what a /tmp mostly has.
SPOOL_BYTES = 2 << 30
# A larger frame would push out too many others.
MAX_FRAME = 64 << 20
_HEAD = Struct("<II")  # number of the frame's first block, bytes of its content
_NUMBERS = 1 << 32

GONE = "its bytes are not kept any more: the temporary file holds the latest"
TOO_LARGE = "its bytes were not kept: it is too large"
UNKEPT = _NUMBERS - 1


class SpoolWriter:
    """Writes frames to an open file. After an error of the disk nothing more is kept; `error` says why."""

    def __init__(self, handle: int, bound: int = SPOOL_BYTES) -> None:
        self._handle = handle
        self._blocks = bound // BLOCK
        self._next = 0
        self.error = ""

    def put(self, content: bytes) -> int:
        """Keep a frame's content; gives its number."""
        length = _HEAD.size + len(content)
        count = -(-length // BLOCK)
        if self.error or len(content) > MAX_FRAME or count > self._blocks or self._next + count >= UNKEPT:
            return UNKEPT
        at = self._next % self._blocks
        if at + count > self._blocks:  # a frame does not go over the end
            self._next += self._blocks - at
        number = self._next
        try:
            os.pwrite(self._handle, _HEAD.pack(number, len(content)) + content, number % self._blocks * BLOCK)
        except OSError as error:
            self.error = error.strerror or str(error)
            return UNKEPT
        self._next = number + count
        return number


class SpoolReader:
    """Reads what a `SpoolWriter` wrote."""

    def __init__(self, handle: int, bound: int = SPOOL_BYTES) -> None:
        self._handle = handle
        self._blocks = bound // BLOCK

    def get(self, number: int) -> Found:
        """A frame's content by its number. Raises nothing."""
        if number == UNKEPT:
            return Found(b"", (), TOO_LARGE)
        at = number % self._blocks * BLOCK
        try:
            head = os.pread(self._handle, _HEAD.size, at)
            if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != number:
                return Found(b"", (), GONE)
            content = os.pread(self._handle, _HEAD.unpack(head)[1], at + _HEAD.size)
            again = os.pread(self._handle, _HEAD.size, at)  # overwritten meanwhile?
        except OSError as error:
            return Found(b"", (), error.strerror or str(error))
        return Found(content) if again == head else Found(b"", (), GONE)
