"""The entrance of the capture layer: `open_captures` turns paths into one ordered stream of packets.

Order: (running maximum of time within the file, order of the files by their first packet, index). Streams
(standard input, named pipes) cannot be probed beforehand: they follow the files, one after the other. Capture
sets: rotated files of one capture (see `rotation`) share a name. Files of different sets are still merged in
one order of time, and `CaptureFile.capture_set` distinguishes their packets.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import BinaryIO, Protocol

from kdissect.capture.byte_source import CHUNK, STDIN
from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.filesystems import absolute, without_options
from kdissect.capture.input_paths import find_inputs
from kdissect.capture.rotation import set_names
from kdissect.model.errors import CaptureError
from kdissect.model.packets.packet import Packet, PlainPacket

# Files that overlap in time are open together. Past this number their handles are closed between two reads:
# the usual limit of a process is 256 (macOS) or 1024 handles. If the limit is lower (`ulimit -n`),
# _FREE_HANDLES are left for everything else.
MAX_OPEN_FILES = 64
_FREE_HANDLES = 32
# Bytes in the read buffers of all open files together. Past it each file reads smaller chunks, down to
# MIN_CHUNK, the smallest size that pays.
_MAX_BUFFERS = 16 << 20
MIN_CHUNK = 1 << 14
# Bytes read of a file to learn the time of its first packet.
_PROBE_CHUNK = 1 << 12

_STDIN_SET = "stdin"


class Captures(Protocol):
    """One stream of packets from one or several inputs: a `CaptureSet`, or a live capture
    (`capture.live`).
    """

    files: list[CaptureFile]

    @property
    def is_live(self) -> bool:
        """Whether an input may still be written, and cannot be read again."""

    @property
    def joined_logs(self) -> Sequence[CaptureFile]:
        """Request logs of inputs with packets: `batches` leaves them out, so that nothing counts twice."""

    @property
    def errors(self) -> list[CaptureError]:
        """Inputs that could not be read, or not cleanly, so far."""

    @property
    def total_bytes(self) -> int | None:
        """Bytes on disk of all inputs, None when that cannot be known."""

    def batches(self) -> Iterator[Sequence[PlainPacket]]:
        """Yield every packet, in order, in non-empty sequences."""


def ends_of(files: Iterable[CaptureFile]) -> dict[str, int]:
    """Return the latest time of a packet read so far, by capture set."""
    ends: dict[str, int] = {}
    for file in files:
        if file.last_time_ns is not None:
            ends[file.capture_set] = max(file.last_time_ns, ends.get(file.capture_set, file.last_time_ns))
    return ends


def numbers_in_sets(capture_sets: Iterable[str]) -> list[int]:
    """Return the number within its set for each file, given by its capture set in the order of the files."""
    counts: dict[str, int] = {}
    numbers = []
    for name in capture_sets:
        numbers.append(counts.get(name, 0))
        counts[name] = numbers[-1] + 1
    return numbers


class CaptureSet:
    """Everything the user named, as one stream of packets. Made by `open_captures`.

    `files` in reading order: `Packet.ref` carries the index of a packet's file in it. Inputs that cannot be
    read are in it too, with `error` set. All facts of the files grow while `packets` or `batches` is consumed
    and are final at its end.
    """

    __slots__ = ("_first_times", "_joined_logs", "files")

    def __init__(self, files: list[CaptureFile]) -> None:
        self._first_times: dict[CaptureFile, int] = {}
        if len(files) > 1:  # one alone needs no order, and an answer within milliseconds
            self._probe(files)
            _join_logs(files)
        last = float("inf")
        self.files = sorted(files, key=lambda file: self._first_times.get(file, last))
        for index, file in enumerate(self.files):
            file.index = index
        logs = [file for file in self.files if file.is_request_log]
        self._joined_logs = logs if len(logs) < len(self.files) else []

    @property
    def joined_logs(self) -> list[CaptureFile]:
        """As of `Captures`."""
        return self._joined_logs

    def packets(self) -> Iterator[Packet]:
        """Yield every packet of every input, in order.

        Raises no exception on bad input: see `errors` and each file's `anomalies`.
        """
        return map(Packet._make, chain.from_iterable(self.batches()))

    def batches(self) -> Iterator[Sequence[PlainPacket]]:
        """Yield the same packets without their names, in the non-empty sequences they are read in."""
        files = [file for file in self.files if file not in self._joined_logs]
        merged = [(self._first_times[file], file) for file in files if file in self._first_times]
        if merged:
            # Start-up: a single input is to be answered at once.
            from kdissect.capture.merge import merge

            yield from merge(merged, partial(_share, _most_open()))
        for file in files:
            if file not in self._first_times:
                yield from file.batches()
        self._note_empty()

    @property
    def errors(self) -> list[CaptureError]:
        """Inputs that could not be read, or not cleanly, so far. All readable packets were delivered."""
        return [file.error for file in self.files if file.error is not None]

    @property
    def is_live(self) -> bool:
        """Whether an input is a stream that may still be written."""
        return any(file.is_stream for file in self.files)

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, in the form on disk: compressed bytes of a compressed file."""
        return sum(file.source.bytes_read for file in self.files)

    @property
    def total_bytes(self) -> int | None:
        """Bytes on disk of all inputs, None when one of them is a stream."""
        if any(file.is_stream for file in self.files):
            return None
        return sum(file.size or 0 for file in self.files)

    def _probe(self, files: list[CaptureFile]) -> None:
        for file in files:
            time_ns = None if file.is_stream else _first_time(file)
            if time_ns is not None:
                self._first_times[file] = time_ns

    def _note_empty(self) -> None:
        """Report a whole file without packets as an error, unless another file of its set has some."""
        alive = {file.capture_set for file in self.files if file.packets}
        for file in self.files:
            is_read = file not in self._joined_logs
            is_empty = not file.packets and not file.error and not file.anomalies
            if is_read and is_empty and file.capture_set not in alive:
                file.error = CaptureError(file.path, "no packets, only a file header")


def open_captures(
    paths: Sequence[str | os.PathLike[str]],
    *,
    recursive: bool = False,
    one_set: str | None = None,
    stdin: BinaryIO | None = None,
) -> CaptureSet:
    """Find the captures that `paths` name: files, directories, patterns, `-` for the standard input.

    Directories are searched for files that begin like a capture, also compressed. Directories below them are
    searched only if `recursive`. `one_set` names one capture set for all inputs: for captures of one tap
    whose names do not show it. `stdin` replaces the process's standard input. Never raises on the content of
    the paths: see `CaptureSet.errors`.
    """
    files = find_inputs(paths, recursive, stdin)
    named = [file for file in files if file.path != STDIN]
    names = set_names([absolute(without_options(file.path)) for file in named])
    for file in files:
        file.capture_set = _STDIN_SET
    for file, name in zip(named, names, strict=True):
        file.capture_set = name
    if one_set is not None:
        for file in files:
            file.capture_set = one_set
    return CaptureSet(files)


def _join_logs(files: Iterable[CaptureFile]) -> None:
    """Put the logs of several brokers into one capture set: brokers of one cluster answer each other's
    clients.
    """
    logs = [file for file in files if file.is_request_log]
    for file in logs:
        file.capture_set = logs[0].capture_set


def _most_open() -> int:
    """Return how many files may be open at the same time."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit  # start-up, and not on Windows
    except ImportError:  # Windows has no such limit
        return MAX_OPEN_FILES
    limit = getrlimit(RLIMIT_NOFILE)[0]
    return MAX_OPEN_FILES if limit == RLIM_INFINITY else min(MAX_OPEN_FILES, limit - _FREE_HANDLES)


def refusal(file: CaptureFile) -> CaptureError | None:
    """Return why a file cannot be opened, or is no capture, or None if it can be read.

    Streams are not tested: their bytes can be read only once.
    """
    if not file.is_stream and file.error is None:
        _first_time(file)
    return file.error


def without_packets(files: Iterable[CaptureFile]) -> CaptureFile | None:
    """Return the first request log among files: there are no packets in it, to be read or written again."""
    for file in files:
        refusal(file)
        if file.is_request_log:
            return file
    return None


def _first_time(file: CaptureFile) -> int | None:
    """Return the time of a file's first packet, after reading as little as possible. The file's state does
    not change.
    """
    file.source.chunk_size = _PROBE_CHUNK
    time_ns = file.first_time()
    file.source.chunk_size = CHUNK
    file.source.bytes_read = 0
    return time_ns


def _share(most: int, file: CaptureFile, open_files: int) -> None:
    """Bound handles and buffers while `open_files` files are open, `file` included."""
    file.source.keep_open = open_files <= most
    file.source.chunk_size = max(MIN_CHUNK, min(CHUNK, _MAX_BUFFERS // open_files))
