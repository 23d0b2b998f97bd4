"""Where the data goes: standard output or a file, in few big writes.

A file is written next to its place and moved there when it is complete. Its former content survives an error
or a kill. An interrupt is not an error: the output up to it remains. Pipes, devices and the output of a
stream, which other programs may follow, are written in place.
"""

import os
import sys
from collections.abc import Callable
from types import TracebackType

from kdissect.capture.whole_file import WholeFile, is_special
from kdissect.model.errors import KdissectError

# A write costs microseconds whatever its size, so that larger buffers have no advantage.
_BUFFER_BYTES = 1 << 18
_TERMINAL_BYTES = 1 << 13  # a person wants to see something soon
_STDOUT = 1


class OutputError(KdissectError):
    """The output cannot be opened or written. The message names it."""


class UsageError(KdissectError):
    """The request is impossible, as only the input shows: wrong usage."""


class Output:
    """Collects bytes and writes them with `os.write`. With `live` every `write` goes out at once.

    Raises OutputError, or BrokenPipeError when the reader went away.
    """

    def __init__(self, path: str | None = None, live: bool = False) -> None:
        self.name = path or "standard output"
        self._path = path
        self._whole = None if path is None or live or is_special(path) else WholeFile(path)
        self._fd = _STDOUT if path is None else self._create(path)
        self.is_terminal = os.isatty(self._fd)
        """Whether a person is looking."""
        self._parts: list[bytes | memoryview] = []
        self._held = 0
        self._unwanted: OutputError | None = None
        self.before_write: Callable[[], None] | None = None
        """Called before each write: takes a progress line off the terminal."""
        self.most_held = 0 if live else _TERMINAL_BYTES if self.is_terminal else _BUFFER_BYTES
        """Bytes to buffer. Further bytes are written."""
        if path is None and sys.stdout is not None:
            sys.stdout.flush()  # what was printed the usual way comes first

    def __enter__(self) -> "Output":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the buffered bytes, also when the reading was interrupted."""
        wrong = self._unwanted if error is None else None if isinstance(error, KeyboardInterrupt) else error
        try:
            if not isinstance(error, (BrokenPipeError, OutputError)):
                self.flush()
        except BaseException as late:
            wrong = late
            raise
        finally:
            self._close(wrong)

    def keep_old(self) -> None:
        """Leave the existing file when this one is closed, because the inputs were not read."""
        if self._whole is not None:
            self._parts.clear()
            self._unwanted = OutputError("nothing was read")

    def drop(self) -> None:
        """Close, and leave what was there before."""
        self._parts.clear()
        self._close(OutputError("dropped"))

    def _close(self, wrong: BaseException | None) -> None:
        try:
            if self._whole is not None:
                self._whole.__exit__(None if wrong is None else type(wrong), wrong, None)
            elif self._path is not None:
                os.close(self._fd)
        except OSError as error:
            raise OutputError(f"{self.name}: {error.strerror}") from error

    def divert(self, fd: int) -> None:
        """Write to somebody who shows it in our place."""
        self._fd, self.before_write = fd, None

    def write(self, data: bytes | memoryview) -> None:
        """Take bytes, and write when there are enough. Many at once go out as they are, uncopied."""
        if len(data) > self.most_held:
            self.flush()
        self._parts.append(data)
        self._held += len(data)
        if self._held > self.most_held:
            self.flush()

    def write_text(self, text: str, whole: str = "\0") -> None:
        """Write text for people, with lines broken between words on a terminal. Raises OutputError.

        Lines that begin with `whole` are not: they are there to be copied.
        """
        if self.is_terminal:
            width = terminal_width()
            lines = text.split("\n")
            text = "\n".join(line if line.startswith(whole) else folded(line, width) for line in lines)
        self.write(text.encode("utf-8", "replace"))

    def flush(self) -> None:
        """Write everything now."""
        if not self._parts:
            return
        if self.before_write is not None:
            self.before_write()
        rest = memoryview(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))
        self._parts.clear()
        self._held = 0
        while rest:
            rest = rest[self._write(rest) :]

    def _create(self, path: str) -> int:
        try:
            if self._whole is not None:
                return self._whole.__enter__().fileno()
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from error

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"{self.name}: {error.strerror}") from error


def terminal_width() -> int:
    """Return columns of the terminal."""
    from shutil import get_terminal_size  # start-up: it loads compressions

    return get_terminal_size().columns


def folded(text: str, width: int) -> str:
    """`text` with lines of `width` cells at most, broken between words.

    A broken line continues below its last column, or two cells in. A word is never broken.
    """
    lines = []
    for line in text.split("\n"):
        while len(line) > width:
            at = line.rfind(" ", _margin(line, width) + 1, width + 1)
            if at < 0:
                at = line.find(" ", width)
            if at < 0:
                break
            indent = _margin(line, width)
            lines.append(line[:at].rstrip())
            line = " " * indent + line[at:].lstrip()  # noqa: PLW2901  what is left of it
        lines.append(line)
    return "\n".join(lines)


def _margin(line: str, width: int) -> int:
    """Return where the last column of a line begins, or its text if there is only one column."""
    start = len(line) - len(line.lstrip(" "))
    last = line.rfind("  ", start, width // 2)
    return last + 2 if last > start else min(start, width // 2)
