"""Where the data goes: standard output or a file, in few big writes."""

import os
import sys
from collections.abc import Callable
from types import TracebackType

# A write costs microseconds whatever its size; beyond this nothing is gained.
BUFFER_BYTES = 1 << 18
_TERMINAL_BYTES = 1 << 13  # a person wants to see something soon
_STDOUT = 1


class OutputError(Exception):
    """The output cannot be opened or written; the message names it."""


class Output:
    """Collects bytes and writes them with `os.write`. With `live` every `write` goes out at once.

    Raises OutputError, or BrokenPipeError when the reader went away.
    """

    def __init__(self, path: str | None = None, live: bool = False) -> None:
        self.name = path or "standard output"
        self._owned = path is not None
        self._fd = _STDOUT if path is None else _create(path)
        self._parts: list[bytes] = []
        self._held = 0
        self.before_write: Callable[[], None] | None = None
        """Called before each write: takes a progress line off the terminal."""
        self._limit = 0 if live else _TERMINAL_BYTES if self.is_terminal else BUFFER_BYTES
        if path is None and sys.stdout is not None:
            sys.stdout.flush()  # what was printed the usual way comes first

    def __enter__(self) -> "Output":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes what is held, also when the reading was interrupted."""
        try:
            if not isinstance(error, (BrokenPipeError, OutputError)):
                self.flush()
        finally:
            if self._owned:
                os.close(self._fd)

    @property
    def is_terminal(self) -> bool:
        """Whether a person is looking."""
        return os.isatty(self._fd)

    def write(self, data: bytes) -> None:
        """Take bytes; writes when enough are there."""
        self._parts.append(data)
        self._held += len(data)
        if self._held > self._limit:
            self.flush()

    def flush(self) -> None:
        """Write everything now."""
        if not self._parts:
            return
        if self.before_write is not None:
            self.before_write()
        rest = memoryview(b"".join(self._parts))
        self._parts.clear()
        self._held = 0
        while rest:
            rest = rest[self._write(rest) :]

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"{self.name}: {error.strerror}") from error


def _create(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
