"""The entrance of live capture: packets while they are captured, with the facts that files have.

`LiveCaptures` looks to the layers above like the `CaptureSet` of `kdissect.capture.files`. One thread
iterates over `batches`; `close` may be called from any thread, also from a signal handler.
"""

from __future__ import annotations

import errno
import os
import queue
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from platform import system as platform
from typing import Protocol

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.live.followed_log import PREFIX as LOG_PREFIX
from kdissect.capture.live.followed_log import FollowedLog
from kdissect.capture.live.headers_only import HeadersSink
from kdissect.capture.live.lag import Behind, Lag
from kdissect.capture.live.live_settings import AUTO, STDIN, BadOptionsError, LiveError, LiveSettings
from kdissect.capture.live.privileges import ids_of
from kdissect.capture.live.programs import Program, first_that_works
from kdissect.capture.live.recorder import ByteSource, PipeSource, Recorder, Recording, SpoolSink
from kdissect.capture.live.ring import FileRing, open_file
from kdissect.capture.live.running_program import ChildSource
from kdissect.capture.live.tapes import FollowedFile, GrowingFile, Spool
from kdissect.capture.rotation import set_names
from kdissect.model.errors import CaptureError
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.tap import PREFIX, TapError, shared_folders

_Tape = FollowedFile | GrowingFile | Spool
_WAIT_S = 0.5  # Python on Windows cannot interrupt a wait without an end


class _Backend(Protocol):
    """Writer of packets to tapes: a `Recorder` in a thread, or a `Recording` in another process."""

    name: str
    trouble: str
    packets: int

    @property
    def drops(self) -> int:
        """Packets lost, as far as it knows."""

    @property
    def paths(self) -> list[str]:
        """Files that it wrote."""

    def start(self) -> None:
        """Begin. Called once."""

    def stop(self) -> None:
        """End the capture. Safe in a signal handler. More than once is fine."""

    def join(self) -> None:
        """Wait for the end."""

    def measure(self) -> None:
        """Bring `Lag` up to date."""


class LiveCaptures:
    """A live capture that runs. Made by `open_live`. Raises LiveError if it cannot be started.

    `files` grows: one entry for each file of a ring, else there is one.
    """

    is_live = True
    joined_logs: Sequence[CaptureFile] = ()
    """No request log is read next to packets."""
    total_bytes = None

    def __init__(
        self,
        settings: LiveSettings,
        source: ByteSource | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self.files: list[CaptureFile] = []
        self.lag = Lag()
        self.unanalysed = 0
        """Bytes in files that the ring removed before the analysis came to them: our own loss."""
        self.longest_lag_s = 0.0
        """The lag from which on the analysis leaves out older files; 0: it reads all."""
        self.has_left_out = False
        """Whether the file before the latest one of `opened` was left out."""
        self.is_drained = False
        """Whether `batches` has given everything."""
        self.notes: queue.SimpleQueue[str] = queue.SimpleQueue()
        """Lines for people about the files: what a full disk cost."""
        self._tapes: queue.SimpleQueue[_Tape | None] = queue.SimpleQueue()
        self._number_begun = self._number_opened = 0  # of tapes
        self._tape: _Tape | None = None  # that is being read
        self._spool: Spool | None = None
        if source is not None:
            self._backend: _Backend = self._recorder(source)
        else:
            self._backend = first_that_works(settings, self._start)
        self._timer: threading.Timer | None = None

    @property
    def source_name(self) -> str:
        """Name of the capturing program."""
        return self._backend.name

    def start(self) -> None:
        """Begin to record. Called once."""
        self._backend.start()
        if self.settings.duration:
            self._timer = threading.Timer(self.settings.duration, self.stop)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Stop capturing. `batches` still yields the recorded packets and ends after them."""
        self._backend.stop()

    def close(self) -> None:
        """Stop, and wait until everything is written. Packets without analysis are in the files of `-w`
        only.
        """
        self.stop()
        if self._timer is not None:
            self._timer.cancel()
        if self._spool is not None:
            self._spool.close()  # a recorder that waits for space goes on
        self._backend.join()

    def discard(self) -> None:
        """Close the captures without analysis, if their `batches` are not read."""
        self.close()
        while (tape := self._next()) is not None:
            self._number_opened += 1
            if not isinstance(tape, Spool):
                tape.skip()

    def _start(self, program: Program) -> _Backend:
        writes = program.writes_rings if self.settings.ring.is_rotated else program.writes_file
        if self.settings.path is not None and writes and not self.settings.headers_only:
            return Recording(program, self.settings, self.lag, self._add, self._ended, self.notes.put)
        return self._recorder(ChildSource(program, self.settings))

    def _recorder(self, source: ByteSource) -> Recorder:
        sink: FileRing | SpoolSink | HeadersSink
        if self.settings.path is not None:
            sink = self._files(self.settings.path)
        else:
            self._spool = Spool(_spool_name(self.settings), self.lag)
            self._add(self._spool)
            sink = SpoolSink(self._spool)
        return Recorder(source, sink, self.settings.comment(source.name), self._ended)

    def _files(self, path: str) -> FileRing | HeadersSink:
        is_whole = not self.settings.headers_only
        ring = FileRing(path, self.settings.ring, self._add, self.lag if is_whole else None, self._clock)
        ring.note = self.notes.put
        if is_tap(self.settings):
            ring.open_file = _open_private
        if is_whole:
            return ring
        if self.settings.user:
            ring.open_file = partial(_open_for, self.settings.user)
        sink = HeadersSink(ring, _spool_name(self.settings), self.lag, self._add)
        ring.opened = sink.begin_file
        return sink

    def _add(self, tape: _Tape) -> None:
        self._number_begun += 1
        self._tapes.put(tape)

    def _ended(self) -> None:
        self._tapes.put(None)

    def batches(self) -> Iterator[Sequence[PlainPacket]]:
        """Yield the packets, in non-empty sequences, as they come, until the capture ends. Raises no
        exception.
        """
        for file in self.opened():
            file.index = len(self.files)
            self.files.append(file)
            yield from file.batches()
            if self.trouble and not file.packets:
                file.error = None  # it is empty because nothing was recorded

    def opened(self) -> Iterator[CaptureFile]:
        """Yield each file when it begins, until the capture ends. Read one to its end before the next."""
        while (tape := self._next()) is not None:
            self._number_opened += 1
            if not isinstance(tape, Spool) and (tape.is_removed or self.is_late()):
                self.unanalysed += tape.skip()
                self.has_left_out = True
                continue
            self._tape = tape
            file = CaptureFile(tape.path, tape, None)
            file.capture_set = self._capture_set(tape.path)
            yield file
            self._tape = None
            if not isinstance(tape, Spool) and file.error is None:
                left_out = tape.written - tape.bytes_read
                self.unanalysed += left_out
                self.has_left_out |= left_out > 0
        self.is_drained = True

    def packets(self) -> Iterator[Packet]:
        """Yield the same packets, one by one, with names."""
        for batch in self.batches():
            yield from map(Packet._make, batch)

    @property
    def captured(self) -> int:
        """Packets recorded so far."""
        return max(self._backend.packets, sum(file.packets for file in self.files))

    @property
    def drops(self) -> int:
        """Packets that the kernel or the interface dropped, as far as the source has reported."""
        return max(self._backend.drops, sum(file.drops for file in self.files))

    @property
    def written(self) -> list[str]:
        """Paths of the files that hold the capture."""
        return self._backend.paths

    @property
    def trouble(self) -> str:
        """The reason why the capture ended without a request, else empty."""
        return self._backend.trouble

    @property
    def errors(self) -> list[CaptureError]:
        """Errors so far. All captured packets were delivered."""
        found = [file.error for file in self.files if file.error is not None]
        return [CaptureError("live", self.trouble), *found] if self.trouble else found

    @property
    def bytes_read(self) -> int:
        """Bytes of the capture that were handed to the analysis."""
        return self.lag.analysed

    def behind(self) -> Behind:
        """Return the lag of the analysis."""
        self._backend.measure()
        return self.lag.behind()

    def is_late(self) -> bool:
        """Return whether the analysis lags so much that it goes on with a newer file.

        A file that the ring has removed takes its space until the analysis leaves it.
        """
        if not self.longest_lag_s or self._number_begun == self._number_opened:
            return False
        return self._is_reading_removed() or self.behind().seconds > self.longest_lag_s

    def _is_reading_removed(self) -> bool:
        tape = self._tape
        return tape is not None and not isinstance(tape, Spool) and tape.is_removed

    def _next(self) -> _Tape | None:
        while True:
            try:
                return self._tapes.get(timeout=_WAIT_S)
            except queue.Empty:
                continue

    def _capture_set(self, path: str) -> str:
        if self.settings.path is None:
            return STDIN if self.source_name == "-" else "live"
        return set_names([os.path.abspath(path)])[0]  # noqa: PTH100  as of the file when it is read later


def open_live(settings: LiveSettings) -> LiveCaptures:
    """Start a live capture, on a default interface unless the settings name one. Raises LiveError."""
    source: ByteSource | None = None
    if settings.source == STDIN:
        source = PipeSource()
    elif is_tap(settings):
        source = tapped(settings)
    elif any(name.startswith(LOG_PREFIX) for name in settings.interfaces):
        source = followed(settings)
    else:
        settings = settings._replace(interfaces=tuple(settings.interfaces) or (_default_interface(),))
    captures = LiveCaptures(settings, source)
    captures.start()
    return captures


def _default_interface() -> str:
    """Return the default interface: `any` on Linux, else the first that is up."""
    if platform() == "Linux":
        return "any"
    from kdissect.capture.live.bindings import list_interfaces  # loads libpcap, which Linux need not have

    for interface in list_interfaces():
        if interface.is_up and not interface.is_loopback:
            return interface.name
    raise LiveError("no interface is up: name one with -i")


def _spool_name(settings: LiveSettings) -> str:
    return "-" if settings.source == STDIN else ",".join(settings.interfaces)


def _open_private(path: str) -> int:
    """Open a file for plaintext that was encrypted on its way, from its start.

    Raises OSError, for a planted file too.
    """
    try:
        handle = shared_folders.open_private(path)
    except TapError as error:
        raise OSError(errno.EPERM, str(error)) from error
    if stat.S_ISREG(os.fstat(handle).st_mode):
        os.ftruncate(handle, 0)
    return handle


def _open_for(user: str, path: str) -> int:
    """Open a file of a user that this process becomes soon, or is already. Raises OSError and LiveError."""
    handle = open_file(path)
    os.fchown(handle, *ids_of(user))
    return handle


def followed(settings: LiveSettings) -> ByteSource:
    """Follow the request log that the interface names. Raises LiveError."""
    (name, *others) = settings.interfaces
    if others:
        raise BadOptionsError("log:FILE is read alone, without other interfaces")
    if settings.source != AUTO or settings.capture_filter:
        raise BadOptionsError("--source and -f choose packets of networks: not for log:FILE")
    if settings.path is not None:
        raise BadOptionsError(f"{name}: -w writes packets, and a request log has none: copy the file")
    try:
        return FollowedLog(name.removeprefix(LOG_PREFIX))
    except OSError as error:
        raise LiveError(f"{name}: {error.strerror or error}") from None


# A tapped JVM as the source of a live capture: the interface `tap:PID`.
def is_tap(settings: LiveSettings) -> bool:
    """Return whether an interface is a JVM."""
    return any(name.startswith(PREFIX) for name in settings.interfaces)


def tapped(settings: LiveSettings) -> ByteSource:
    """Tap the JVM that the interface names. Raises LiveError."""
    from kdissect.capture.live.filtered import narrowing
    from kdissect.tap.tap_source import attach, process_of  # start-up: other captures do not need it

    if len(settings.interfaces) > 1:
        raise BadOptionsError("tap:PID is captured alone, without other interfaces")
    if settings.source != AUTO:
        raise BadOptionsError("--source chooses who captures from networks: not for tap:PID")
    try:
        pid, engines = process_of(settings.interfaces[0])
        return narrowing(settings.capture_filter)(attach(pid, engines))
    except TapError as error:
        raise LiveError(str(error)) from None
