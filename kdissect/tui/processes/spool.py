"""A bounded file for frames that cannot be read again: of streams, compressed captures and TLS.

One process writes and another reads. Blocks have ever-increasing numbers, and each block is at its number
modulo the bound, so a new block overwrites the oldest one. Each frame begins with its number and length, by
which a reader sees whether the frame is still there. The file has no name and disappears with the processes.
"""

from __future__ import annotations

import os
from struct import Struct

from kdissect.engine.exchange_log.logged_frames import Found

_BLOCK = 16  # bytes. Block numbers are 32 bits wide, enough for 64 GiB
# Bytes on disk: an hour of a busy broker's connection at 500 KB/s, and what a /tmp mostly has.
_SPOOL_BYTES = 2 << 30
# A larger frame would push out too many other frames.
_MAX_FRAME = 64 << 20
_HEAD = Struct("<II")  # number of the frame's first block, bytes of its content
_NUMBERS = 1 << 32

GONE = "its bytes are no longer stored: the temporary file holds the latest"
TOO_LARGE = "its bytes were dropped: it is too large"
_UNKEPT = _NUMBERS - 1


class SpoolWriter:
    """Writer of frames to an open file. After a disk error it stores no more frames, and `error` is the
    reason.
    """

    def __init__(self, handle: int, bound: int = _SPOOL_BYTES) -> None:
        self._handle = handle
        self._blocks = bound // _BLOCK
        self._next = 0
        self.error = ""

    def put(self, content: bytes) -> int:
        """Store a frame's content and return its number."""
        length = _HEAD.size + len(content)
        count = -(-length // _BLOCK)
        if self.error or len(content) > _MAX_FRAME or count > self._blocks or self._next + count >= _UNKEPT:
            return _UNKEPT
        at = self._next % self._blocks
        if at + count > self._blocks:  # a frame does not go over the end
            self._next += self._blocks - at
        number = self._next
        try:
            os.pwrite(
                self._handle, _HEAD.pack(number, len(content)) + content, number % self._blocks * _BLOCK
            )
        except OSError as error:
            self.error = error.strerror or str(error)
            return _UNKEPT
        self._next = number + count
        return number


class SpoolReader:
    """Reader of the frames that a `SpoolWriter` wrote."""

    def __init__(self, handle: int, bound: int = _SPOOL_BYTES) -> None:
        self._handle = handle
        self._blocks = bound // _BLOCK

    def get(self, number: int) -> Found:
        """Return a frame's content by its number. Raises no exception."""
        if number == _UNKEPT:
            return Found(b"", (), TOO_LARGE)
        at = number % self._blocks * _BLOCK
        try:
            head = os.pread(self._handle, _HEAD.size, at)
            if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != number:
                return Found(b"", (), GONE)
            content = os.pread(self._handle, _HEAD.unpack(head)[1], at + _HEAD.size)
            again = os.pread(self._handle, _HEAD.size, at)  # overwritten meanwhile?
        except OSError as error:
            return Found(b"", (), error.strerror or str(error))
        return Found(content) if again == head else Found(b"", (), GONE)
