"""The entrance of live capture: packets while they are captured, with the facts that files have.

`LiveCaptures` looks to the layers above like the `CaptureSet` of `kdissect.capture.files`. One thread
iterates over `batches`; `close` may be called from any thread, also from a signal handler.
"""

import os
import queue
import threading
from collections.abc import Iterator
from platform import system as platform

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.live.choose import open_source
from kdissect.capture.live.errors import LiveError
from kdissect.capture.live.lag import Behind, Lag
from kdissect.capture.live.piped import PipeSource
from kdissect.capture.live.recorder import ByteSource, Recorder, SpoolSink
from kdissect.capture.live.ring import FileRing
from kdissect.capture.live.settings import STDIN, LiveSettings
from kdissect.capture.live.tapes import GrowingFile, Spool
from kdissect.capture.rotation import set_names
from kdissect.model.errors import CaptureError
from kdissect.model.packet import Packet, PlainPacket

_WAIT_S = 0.5  # Python on Windows cannot interrupt a wait without an end


class LiveCaptures:
    """A live capture that runs. Made by `open_live`.

    `files` grows: one entry for each file of a ring, else there is one.
    """

    is_live = True
    total_bytes = None

    def __init__(self, source: ByteSource, settings: LiveSettings) -> None:
        self.settings = settings
        self.source_name = source.name
        self.files: list[CaptureFile] = []
        self.lag = Lag()
        self.unanalysed = 0
        """Packets in files that the ring removed before the analysis came to them: our own loss."""
        self._tapes: queue.SimpleQueue[GrowingFile | Spool | None] = queue.SimpleQueue()
        self._source = source
        self._ring: FileRing | None = None
        self._recorder = Recorder(source, self._sink(), settings.comment(source.name), self._ended)
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Begin to record. Called once."""
        self._recorder.start()
        if self.settings.duration:
            self._timer = threading.Timer(self.settings.duration, self.stop)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Capture no further. What is recorded is still given by `batches`, which ends behind it."""
        self._source.stop()

    def close(self) -> None:
        """Stop, and wait until everything is written. What was not analysed is in the files of `-w` only."""
        self.stop()
        if self._timer is not None:
            self._timer.cancel()
        for tape in self._open_spools():
            tape.close()  # a recorder that waits for room gets on
        self._recorder.join()

    def batches(self) -> Iterator[list[PlainPacket]]:
        """The packets, in non-empty lists, as they come; ends when the capture does. Raises nothing."""
        while (tape := self._next()) is not None:
            if isinstance(tape, GrowingFile) and tape.is_removed:
                self.unanalysed += tape.skip()
                continue
            file = CaptureFile(tape.path, tape, None)
            file.index = len(self.files)
            file.capture_set = self._capture_set(tape.path)
            self.files.append(file)
            yield from file.batches()

    def packets(self) -> Iterator[Packet]:
        """The same, one by one, with names."""
        for batch in self.batches():
            yield from map(Packet._make, batch)

    @property
    def captured(self) -> int:
        """Packets recorded so far."""
        return self._recorder.packets

    @property
    def drops(self) -> int:
        """Packets that the kernel or the interface dropped, as far as the source has told."""
        return self._recorder.drops

    @property
    def written(self) -> list[str]:
        """Paths of the files that hold the capture."""
        return list(self._ring.paths) if self._ring is not None else []

    @property
    def trouble(self) -> str:
        """Why the capture ended before anybody asked for it; empty else."""
        return self._recorder.trouble

    @property
    def errors(self) -> list[CaptureError]:
        """What went wrong so far. All that could be captured was delivered."""
        found = [file.error for file in self.files if file.error is not None]
        return [CaptureError("live", self.trouble), *found] if self.trouble else found

    @property
    def bytes_read(self) -> int:
        """Bytes of the capture that were handed to the analysis."""
        return self.lag.analysed

    def behind(self) -> Behind:
        """How far the analysis is behind the capture."""
        return self.lag.behind()

    def _sink(self) -> FileRing | SpoolSink:
        if self.settings.path is not None:
            self._ring = FileRing(self.settings.path, self.settings.ring, self.lag, self._tapes.put)
            return self._ring
        self._spool = Spool(_spool_name(self.settings), self.lag)
        self._tapes.put(self._spool)
        return SpoolSink(self._spool)

    def _open_spools(self) -> list[Spool]:
        return [] if self._ring is not None else [self._spool]

    def _ended(self) -> None:
        self._tapes.put(None)

    def _next(self) -> GrowingFile | Spool | None:
        while True:
            try:
                return self._tapes.get(timeout=_WAIT_S)
            except queue.Empty:
                continue

    def _capture_set(self, path: str) -> str:
        if self._ring is None:
            return STDIN if self.source_name == "-" else "live"
        return set_names([os.path.abspath(path)])[0]  # noqa: PTH100  as of the file when it is read later


def open_live(settings: LiveSettings) -> LiveCaptures:
    """Start a live capture; interfaces are a default where none is named. Raises LiveError."""
    if settings.source == STDIN:
        source: ByteSource = PipeSource()
    else:
        settings = settings._replace(interfaces=tuple(settings.interfaces) or (default_interface(),))
        source = open_source(settings)
    captures = LiveCaptures(source, settings)
    captures.start()
    return captures


def default_interface() -> str:
    """Where one captures who names no interface: everywhere on Linux, else the first that is up."""
    if platform() == "Linux":
        return "any"
    from kdissect.capture.live.bindings import list_interfaces

    for interface in list_interfaces():
        if interface.is_up and not interface.is_loopback:
            return interface.name
    raise LiveError("no interface is up: name one with -i")


def _spool_name(settings: LiveSettings) -> str:
    return "-" if settings.source == STDIN else ",".join(settings.interfaces)
