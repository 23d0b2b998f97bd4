"""A pipe that somebody else writes, as a source of bytes."""

import os
import select
import sys
from typing import BinaryIO

_READ = 1 << 20


class PipeSource:
    """Standard input, or `stream`, until it ends or `stop` is called."""

    def __init__(self, name: str = "-", stream: BinaryIO | None = None) -> None:
        self.name = name
        self._stream = stream
        self._handle = self._fileno()
        self._wake_read, self._wake_write = os.pipe()
        self._can_wait = sys.platform != "win32"  # select on Windows knows sockets alone

    def read(self) -> bytes:
        """The next bytes, waits for them; empty at the end. Raises OSError."""
        if self._can_wait:
            ready, _, _ = select.select([self._handle, self._wake_read], [], [])
            if self._wake_read in ready:
                return b""
        return os.read(self._handle, _READ)

    def stop(self) -> None:
        """Read no further."""
        os.write(self._wake_write, b"x")

    def failure(self) -> str:
        """A pipe that ends is no failure."""
        return ""

    def drops(self) -> int:
        """Only what the stream itself tells."""
        return 0

    def _fileno(self) -> int:
        if self._stream is not None:
            return self._stream.fileno()
        if sys.stdin is None:
            raise OSError("there is no standard input")
        return sys.stdin.fileno()
