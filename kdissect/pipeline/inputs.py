"""The inputs of a run: files in canonical order."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.compression import Compression
from kdissect.capture.files import CaptureSet, open_captures
from kdissect.capture.filesystems import absolute
from kdissect.capture.objects import source_of
from kdissect.model.errors import CaptureError
from kdissect.model.wording import path_text

# The error of an input that is a stream.
IS_STREAM = "a stream is read by one process: give files"
# That of a request log next to packets.
IS_JOINED = "one process joins a request log with packets: use --engine local, or name the log alone"
# Bytes of small files that one task reads: a task costs Spark some 10 ms, and a core reads 100 MB a second.
TASK_BYTES = 64 << 20


class Input(NamedTuple):
    """One file. `number` is its place in the canonical order, `capture_set` the number of its set.

    `name` is the path as rows have it, `absolute_path` what tasks open, which have working directories of
    their own.
    """

    number: int
    path: str
    name: str
    capture_set: int
    set_name: str
    size: int | None
    error: str | None
    absolute_path: str
    compression: Compression = Compression.NONE

    def open(self) -> CaptureFile:
        """Return the file, to be read on any machine that reaches its path."""
        error = None if self.error is None else CaptureError(self.path, self.error)
        file = CaptureFile(self.path, source_of(self.absolute_path), self.size, error)
        file.index = self.number
        file.compression = self.compression  # of what is not read again, as it is no capture
        file.capture_set = self.set_name
        return file


class Inputs(NamedTuple):
    """All files of a run. `capture_sets` are the names of the sets by number."""

    files: tuple[Input, ...]
    capture_sets: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        """Bytes on disk."""
        return sum(file.size or 0 for file in self.files)


def find(paths: Sequence[str], recursive: bool = False) -> Inputs:
    """Find the inputs that paths name, as every command does. Raises no exception: see `Input.error`."""
    captures = open_captures(list(paths), recursive=recursive)
    names = sorted({file.capture_set for file in captures.files})
    numbers = {name: number for number, name in enumerate(names)}
    return Inputs(tuple(_inputs(captures, numbers)), tuple(names))


def _inputs(captures: CaptureSet, numbers: dict[str, int]) -> Iterable[Input]:
    for file in captures.files:
        error = None if file.error is None else file.error.why
        if file.is_stream:
            error = IS_STREAM
        if file in captures.joined_logs:
            error = IS_JOINED
        name = path_text(file.path)
        capture_set = file.capture_set
        number, path = numbers[capture_set], absolute(file.path)
        packed = file.compression
        yield Input(file.index, file.path, name, number, capture_set, file.size, error, path, packed)
