"""The thread between a source and the analysis: it takes bytes, and only writes them."""

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, Protocol

from kdissect.capture.formats.file_format import describe_other, is_enough
from kdissect.capture.live.blocks import Blocks, Cutter, Text, cutter_for, statistics_block
from kdissect.capture.live.lag import Lag
from kdissect.capture.live.live_settings import LiveSettings
from kdissect.capture.live.programs import Program
from kdissect.capture.live.running_program import Child, widen
from kdissect.capture.live.tapes import FollowedFile, Spool

_HEAD = 12  # bytes that identify the kind of stream


class ByteSource(Protocol):
    """Source of a live capture's bytes."""

    name: str

    def read(self) -> bytes:
        """Return the next bytes, after waiting for them, or no bytes at the end. Raises OSError."""

    def stop(self) -> None:
        """Ask the source to end. Safe in a signal handler. More than once is fine."""

    def failure(self) -> str:
        """Return the reason why it ended unexpectedly, else an empty text."""

    def drops(self) -> int:
        """Return the packets it reports as lost, if the stream does not."""


class Sink(Protocol):
    """Target of blocks."""

    paths: list[str]

    def write(self, blocks: Blocks, preamble: bytes, drops: dict[int, int]) -> None:
        """Take blocks. Raises OSError."""

    def close(self, drops: dict[int, int]) -> None:
        """End the output. Raises OSError."""


class SpoolSink:
    """Blocks for analysis alone."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.paths: list[str] = []

    def write(self, blocks: Blocks, _preamble: bytes, _drops: dict[int, int]) -> None:
        """Take blocks, after waiting for space."""
        self._spool.put(blocks.data)

    def close(self, drops: dict[int, int]) -> None:
        """End the output."""
        for interface, count in drops.items():
            self._spool.put(statistics_block(interface, count, time.time_ns()))
        self._spool.close()


class Recorder:
    """Copies a source to a sink until either ends. `trouble` then says what went wrong, if anything."""

    def __init__(self, source: ByteSource, sink: Sink, comment: str, ended: Callable[[], None]) -> None:
        self._source = source
        self.name = source.name
        self._sink = sink
        self._comment = comment
        self._ended = ended
        self._cutter: Cutter | None = None
        self._head = b""
        self.packets = 0
        self.trouble = ""
        self._thread = threading.Thread(target=self._run, name="kdissect-recorder", daemon=True)

    @property
    def drops(self) -> int:
        """Packets lost so far, as far as the source has reported."""
        cutter = self._cutter
        told = cutter.drops_before + sum(cutter.drops.copy().values()) if cutter is not None else 0
        return max(told, self._source.drops())

    @property
    def paths(self) -> list[str]:
        """Paths of the files there are."""
        return list(self._sink.paths)

    def measure(self) -> None:
        """Nothing: what is written is counted when it is."""

    def stop(self) -> None:
        """Ask the source to end."""
        self._source.stop()

    def start(self) -> None:
        """Begin, in a thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self._copy()
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            self.trouble = f"{name}{error.strerror or error}"
        if self.trouble:
            self._source.stop()
        try:
            self._sink.close(self._last_drops())
        except OSError as error:
            self.trouble = self.trouble or str(error.strerror or error)
        self.trouble = self.trouble or self._source.failure()
        self._ended()

    def _copy(self) -> None:
        while data := self._source.read():
            cutter = self._cutter or self._begin(data)
            if cutter is None:
                if self.trouble:
                    return
                continue
            if self._head:
                data, self._head = self._head, b""
            for blocks in cutter.feed(data):
                self._sink.write(blocks, cutter.preamble, cutter.drops)
                self.packets += blocks.packets
            if cutter.error is not None:
                self.trouble = f"{self._source.name}: {cutter.error}"
                return
        if self._cutter is None and self._head:
            self.trouble = f"{self._source.name}: {describe_other(self._head)}"

    def _begin(self, data: bytes) -> Cutter | None:
        """Return the cutter, once the first bytes show which one."""
        self._head += data
        if len(self._head) < _HEAD or not is_enough(self._head):
            return None
        found = cutter_for(self._head, self._comment)
        if isinstance(found, Text) and not isinstance(self._sink, SpoolSink):
            found = "-w writes packets, and a request log has none"
        if isinstance(found, str):
            self.trouble = f"{self._source.name}: {found}"
            return None
        self._cutter = found
        return found

    def _last_drops(self) -> dict[int, int]:
        """Return drops by interface. Drops that only the program reported count for the first interface."""
        if self._cutter is None:
            return {}
        drops = dict(self._cutter.drops)
        told = self._source.drops()
        if told > sum(drops.values()):
            drops[0] = drops.get(0, 0) + told - sum(drops.values())
        return drops


_READ = 1 << 20


class PipeSource:
    """Standard input, or `stream`, until it ends or `stop` is called."""

    def __init__(self, name: str = "-", stream: BinaryIO | None = None) -> None:
        self.name = name
        self._stream = stream
        self._handle = self._fileno()
        widen(self._handle)
        self._wake_read, self._wake_write = os.pipe()
        self._can_wait = sys.platform != "win32"  # select on Windows knows sockets alone

    def read(self) -> bytes:
        """Return the next bytes, after waiting for them, or no bytes at the end. Raises OSError."""
        if self._can_wait:
            ready, _, _ = select.select([self._handle, self._wake_read], [], [])
            if self._wake_read in ready:
                return b""
        return os.read(self._handle, _READ)

    def stop(self) -> None:
        """Read no further."""
        os.write(self._wake_write, b"x")

    def failure(self) -> str:
        """Return no failure: a pipe that ends is none."""
        return ""

    def drops(self) -> int:
        """Return no drops: the stream itself reports them."""
        return 0

    def _fileno(self) -> int:
        if self._stream is not None:
            return self._stream.fileno()
        if sys.stdin is None:
            raise OSError("there is no standard input")
        return sys.stdin.fileno()


# A program that writes the files of `-w` itself, while the analysis follows them.
class Recording:
    """Recording by a program that names each file it begins. Raises LiveError if it does not start.

    `opened` is called with each file, in order, and `ended` when there will be no more. `note` takes lines
    for people about the files.
    """

    def __init__(
        self,
        program: Program,
        settings: LiveSettings,
        lag: Lag,
        opened: Callable[[FollowedFile], None],
        ended: Callable[[], None],
        note: Callable[[str], None],
    ) -> None:
        self.name = program.name
        self.trouble = ""
        self.packets = 0
        self._lag = lag
        self._ring = settings.ring
        self._opened = opened
        self._ended = ended
        self._files: list[FollowedFile] = []  # files that may still exist, oldest first
        self._child = Child(program, settings, self._new_file, note)
        self._waiter = threading.Thread(target=self._wait, name="kdissect-recording", daemon=True)

    @property
    def paths(self) -> list[str]:
        """Paths of the files there are."""
        return [file.path for file in self._files]

    @property
    def drops(self) -> int:
        """Return no drops: the files report them."""
        return 0

    def start(self) -> None:
        """Watch for the end of the program, in a thread."""
        self._waiter.start()

    def stop(self) -> None:
        """Ask the program to end."""
        self._child.stop()

    def join(self) -> None:
        """Wait for the end."""
        self._waiter.join()

    def measure(self) -> None:
        """Look how far the files have grown."""
        for file in list(self._files):
            file.measure()

    def _new_file(self, path: str) -> None:
        if self._files:
            self._files[-1].close()
        file = FollowedFile(path, self._lag)
        self._files.append(file)
        if self._ring.keep and len(self._files) > self._ring.keep:
            self._files.pop(0).remove()
        if self._ring.is_bounded:
            while self._files and not os.path.exists(self._files[0].path):  # noqa: PTH110
                self._files.pop(0).remove()  # on a full disk, also the file that has just begun
        self._opened(file)

    def _wait(self) -> None:
        self._child.wait()
        self.trouble = self._child.failure()
        if self._files:
            self._files[-1].close()
        self._ended()
