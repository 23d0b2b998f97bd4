"""Tapes that the recorder writes and the analysis reads: a growing file, or a bounded spool in memory.

Both are a `Source` of `capture_file`: `chunks` waits for more until the recorder has closed them.
"""

import errno
import os
from collections import deque
from collections.abc import Iterator
from threading import Condition, Event, Lock

from kdissect.capture.byte_source import CHUNK
from kdissect.capture.live.lag import Lag

# Without -w this much waits in memory for an analysis that lags: a second of 1 Gbit/s. When it is full, the
# pipe fills, and then the kernel drops packets and counts them.
MAX_SPOOL = 128 << 20
# Seconds between two tests for growth of a file that another process writes.
_POLL_S = 0.01
_READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
# Python on Windows cannot interrupt a wait without an end.
_WAIT_S = 0.5


class GrowingFile:
    """A file that a thread of ours writes. `is_removed`: the ring has deleted it."""

    def __init__(self, path: str, lag: Lag) -> None:
        self.path = path
        self.bytes_read = 0
        self.chunk_size = CHUNK
        self.keep_open = True
        self.packets = 0
        self.written = 0
        self.latest_s = 0.0
        """Time of its last bytes, on the clock of its ring."""
        self.is_closed = False
        self.is_removed = False
        self._lag = lag
        self._grown = Condition()

    def wrote(self, size: int, packets: int) -> None:
        """Count whole blocks that the recorder wrote."""
        with self._grown:
            self.written += size
            self.packets += packets
            self._lag.wrote(size)
            self._grown.notify()

    def close(self) -> None:
        """Nothing more comes."""
        with self._grown:
            self.is_closed = True
            self._grown.notify()

    def skip(self) -> int:
        """Skip the unread, removed file. Return the number of its bytes."""
        self._lag.read(self.written)
        return self.written

    def chunks(self) -> Iterator[bytes]:
        """Yield the written bytes, as they come. Raises OSError."""
        handle, noted = os.open(self.path, _READ_ONLY), 0
        try:
            while size := self._wait():
                data = os.read(handle, min(size, self.chunk_size))
                if not data:
                    return
                self.bytes_read += len(data)
                yield data
                self._lag.read(len(data))  # when the analysis comes back for more, it is through with it
                noted += len(data)
                self._lag.pause()
        finally:
            os.close(handle)
            self._lag.read(self.written - noted)  # of a file that the analysis leaves

    def _wait(self) -> int:
        """Return bytes that are written and not read; 0 at the end."""
        while True:
            with self._grown:
                if self.bytes_read >= self.written and not self.is_closed:
                    self._grown.wait(_WAIT_S)
                if self.bytes_read < self.written or self.is_closed:
                    return self.written - self.bytes_read
            self._lag.pause()


class FollowedFile:
    """A file that another process writes. Its size comes from the file system.

    It is opened at once, for a ring may delete it before the analysis comes to it.
    """

    def __init__(self, path: str, lag: Lag) -> None:
        self.path = path
        self.bytes_read = 0
        self.chunk_size = CHUNK
        self.keep_open = True
        self.written = 0
        self.is_removed = False
        self._lag = lag
        self._lock = Lock()
        self._closed = Event()
        self._is_read = False
        try:
            self._handle = os.open(path, _READ_ONLY)
        except OSError:  # its writer reports it
            self._handle = -1

    def close(self) -> None:
        """Nothing more comes."""
        self._closed.set()

    def measure(self) -> int:
        """Return bytes that are written so far."""
        with self._lock:
            if self._handle >= 0:
                size = os.fstat(self._handle).st_size
                self._lag.wrote(size - self.written)
                self.written = size
            return self.written

    def remove(self) -> None:
        """Note that the ring has deleted it. Its space is free, unless the analysis reads it."""
        self.measure()
        with self._lock:
            self.is_removed = True
            if not self._is_read:
                self._forget()

    def skip(self) -> int:
        """Skip the unread file. Return the number of its bytes."""
        self._lag.read(self.measure())
        with self._lock:
            self._forget()
        return self.written

    def chunks(self) -> Iterator[bytes]:
        """Yield the written bytes, as they come. Raises OSError."""
        with self._lock:
            self._is_read = True
            if self._handle < 0:  # removed just now, or never opened
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        noted = 0
        try:
            while size := self._wait():
                data = os.read(self._handle, min(size, self.chunk_size))
                if not data:
                    return
                self.bytes_read += len(data)
                yield data
                self._lag.read(len(data))
                noted += len(data)
                self._lag.pause()
        finally:
            self._lag.read(self.measure() - noted)  # of a file that the analysis leaves
            with self._lock:
                self._forget()

    def _wait(self) -> int:
        """Return bytes that are written and not read; 0 at the end."""
        while True:
            is_over = self._closed.is_set()  # asked first: what is written before the end is seen below
            size = self.written - self.bytes_read or self.measure() - self.bytes_read
            if size or is_over:
                return size
            self._closed.wait(_POLL_S)
            self._lag.pause()

    def _forget(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


class Spool:
    """Bytes in memory, at most `limit` of them. A writer of more bytes waits."""

    def __init__(self, path: str, lag: Lag, limit: int = MAX_SPOOL) -> None:
        self.path = path
        self.bytes_read = 0
        self.chunk_size = CHUNK
        self.keep_open = True
        self._lag = lag
        self._limit = limit
        self._held = 0
        self._parts: deque[bytes] = deque()
        self._is_closed = False
        self._changed = Condition()

    def put(self, data: bytes) -> None:
        """Take bytes, after waiting for space. Drop them after `close`."""
        with self._changed:
            while self._held >= self._limit and not self._is_closed:
                self._changed.wait(_WAIT_S)
            if self._is_closed:
                return
            self._parts.append(data)
            self._held += len(data)
            self._lag.wrote(len(data))
            self._changed.notify()

    def close(self) -> None:
        """Nothing more comes."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of `put`, as they come."""
        while data := self._take():
            self.bytes_read += len(data)
            yield data
            self._lag.read(len(data))
            self._lag.pause()

    def _take(self) -> bytes:
        while True:
            with self._changed:
                if not self._parts and not self._is_closed:
                    self._changed.wait(_WAIT_S)
                if self._parts:
                    data = self._parts.popleft()
                    self._held -= len(data)
                    self._changed.notify()
                    return data
                if self._is_closed:
                    return b""
            self._lag.pause()
