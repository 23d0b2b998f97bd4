"""Sources of a capture's bytes: files, or streams still being written."""

import os
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

from kdissect.model.native import is_compiled, native

STDIN = "-"
# Packets are copied out of a chunk one by one: a chunk that stays in the CPU's second-level cache measured
# 1.1 us a packet of 1500 bytes, chunks of 4 MB 1.9 us, and a plain read is no slower in small chunks.
CHUNK = 1 << 17
# Linux pipes hold 64 KiB by default, so a read never returns more.
_PIPE_CHUNK = 1 << 16
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class FileSource:
    """A regular file. Read with `chunks`. `bytes_read` counts the bytes that were read.

    With `keep_open` false no handle is open between two chunks, so that any number of files can be read at
    the same time. `chunk_size`, `keep_open` and `is_hashed` may change until `chunks` starts.
    """

    __slots__ = ("bytes_read", "chunk_size", "is_hashed", "keep_open", "path", "sha256")

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_hashed = False
        """Whether `sha256` is wanted."""
        self.sha256: str | None = None
        """SHA-256 in hex of what was read, once that was all of the file."""
        self.bytes_read = 0
        self.chunk_size = CHUNK
        self.keep_open = True

    def chunks(self) -> Iterator[bytes]:
        """Yield the file's bytes from the start, never an empty chunk. Raises OSError."""
        self.bytes_read = 0
        digest = _new_hash() if self.is_hashed else None
        handle = -1
        try:
            while True:
                if handle < 0:
                    handle = os.open(self.path, _OPEN_FLAGS)
                    os.lseek(handle, self.bytes_read, os.SEEK_SET)
                data = os.read(handle, self.chunk_size)
                if not data:
                    self.sha256 = None if digest is None else digest.hexdigest()
                    return
                if digest is not None:
                    digest.update(data)
                self.bytes_read += len(data)
                if not self.keep_open:
                    os.close(handle)
                    handle = -1
                yield data
        finally:
            if handle >= 0:
                os.close(handle)


class StreamSource:
    """A pipe, socket or device, read once: a path, the standard input, or `stream`, an object with `read`.

    A chunk is all that is available, so a packet is delivered as soon as its last byte was written.
    """

    __slots__ = ("_stream", "bytes_read", "chunk_size", "keep_open", "path")

    def __init__(self, path: str, stream: BinaryIO | None = None) -> None:
        self.path = path
        self.bytes_read = 0
        self.chunk_size = _PIPE_CHUNK
        self.keep_open = True
        self._stream = stream

    def chunks(self) -> Iterator[bytes]:
        """Yield the stream's bytes from its position, never an empty chunk. Raises OSError."""
        if self._stream is not None:
            read = getattr(self._stream, "read1", self._stream.read)  # read1: no waiting for a full buffer
            while data := read(self.chunk_size):
                self.bytes_read += len(data)
                yield data
        elif self.path == STDIN:
            if sys.stdin is None:  # a detached process has none
                raise OSError("there is no standard input")
            yield from self._from(sys.stdin.fileno())
        else:
            handle = os.open(self.path, _OPEN_FLAGS)
            try:
                yield from self._from(handle)
            finally:
                os.close(handle)

    def _from(self, handle: int) -> Iterator[bytes]:
        while True:
            try:
                data = os.read(handle, self.chunk_size)
            except BlockingIOError:  # the terminal's other owner made it non-blocking
                _wait(handle)
                continue
            if not data:
                return
            self.bytes_read += len(data)
            yield data


def _new_hash() -> Any:
    if is_compiled:
        return native.Sha256()
    from hashlib import sha256  # start-up: the library of TLS, 3.4 MB; few commands ask for it

    return sha256()


def _wait(handle: int) -> None:
    import select  # almost never needed

    select.select([handle], [], [])


class Source(Protocol):
    """Source of bytes: a file, a stream, a capture that grows (`capture.live.tapes`)."""

    path: str
    bytes_read: int
    chunk_size: int
    keep_open: bool

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes from the start, or from a stream's position, never an empty chunk. Raises
        OSError.
        """
