"""Our own dumpcap: a process that captures with libpcap or scapy, and writes pcapng to files or stdout.

A process and not a thread, because analysis holds the interpreter for milliseconds at a time, and a kernel
ring that is not emptied drops packets. Run as `python -m kdissect.capture.live.capture_child SETTINGS` with a
JSON object of `LiveSettings`, whose `source` is libpcap or scapy. On stderr it names each file it begins,
prints `ready` when it captures, and the reason if it cannot go on. It ends when its standard input is closed.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO

from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.formats.pcap import PcapParser
from kdissect.capture.live.bindings import TIMEOUT_MS, PcapHandle
from kdissect.capture.live.blocks import Blocks, statistics_block
from kdissect.capture.live.live_settings import SCAPY, LiveError, LiveSettings, Ring
from kdissect.capture.live.privileges import drop_to
from kdissect.capture.live.programs import FILE, NOTE, READY
from kdissect.capture.live.ring import FileRing
from kdissect.capture.live.scapy_handle import ScapyHandle
from kdissect.model.native import is_compiled

_Handle = PcapHandle | ScapyHandle

_STDOUT = 1
_NICER = -10
_SESSION = "/proc/self/autogroup"
_STATISTICS_S = 1.0
_DRAIN_S = 2.0  # at most, for the content of a full kernel buffer at the end
# Bytes gathered before a write while packets keep coming. A pipe holds 1 MiB at most.
_BATCH = 1 << 18
_EVER = ((0, (1 << 63) - 1),)  # nanoseconds since 1970


class _Output:
    """One place for the blocks of several threads."""

    def __init__(self, settings: LiveSettings) -> None:
        self._lock = threading.Lock()
        self._ring = None
        if settings.path is not None:
            self._ring = FileRing(settings.path, settings.ring, lambda file: _report(FILE + file.path))
            self._ring.note = lambda line: _report(NOTE + line)
        self.preamble = b""
        self.drops: dict[int, int] = {}

    def begin(self, preamble: bytes) -> None:
        """Write the section and the interfaces."""
        self.preamble = preamble
        self.put(Blocks(preamble, 0))

    def put(self, blocks: Blocks) -> None:
        """Write blocks. Raises OSError."""
        with self._lock:
            if self._ring is not None:
                self._ring.write(blocks, self.preamble, self.drops)
                return
            rest = memoryview(blocks.data)
            while rest:
                rest = rest[os.write(_STDOUT, rest) :]

    def expire(self) -> None:
        """Remove files of a ring that are too old."""
        with self._lock:
            if self._ring is not None:
                self._ring.expire()

    def note_drops(self, interface: int, drops: int) -> None:
        """Report losses. A file has them at its end."""
        self.drops[interface] = drops
        if self._ring is None:
            self.put(Blocks(statistics_block(interface, drops, time.time_ns()), 0))

    def close(self) -> None:
        """End the output. Raises OSError."""
        if self._ring is not None:
            self._ring.close(self.drops)


class _Reader:
    """The packets of one interface, as blocks."""

    def __init__(
        self, handle: _Handle, number: int, output: _Output, writer: PcapngWriter, out: BytesIO
    ) -> None:
        self._handle = handle
        self._number = number
        self._output = output
        self._writer = writer  # writes to `out`, and knows all interfaces
        self._blocks = out
        self._packets = 0
        self._latest_ns = 0
        self._parser = PcapParser()

    def run(self) -> None:
        due, told = time.monotonic() + _STATISTICS_S, 0
        while self._handle.dispatch(self) >= 0:
            self._flush()
            now = time.monotonic()
            if now >= due:
                due, before, told = now + _STATISTICS_S, told, self._handle.drops()
                if told != before:
                    self._output.note_drops(self._number, told)
                self._output.expire()
        self._drain()
        self._output.note_drops(self._number, self._handle.drops())

    def _drain(self) -> None:
        """Read the packets that the kernel still has from the time before the end was requested."""
        end_ns, until = time.time_ns(), time.monotonic() + _DRAIN_S
        self._handle.do_not_wait()
        while True:
            time.sleep(2 * TIMEOUT_MS / 1000)  # by then the kernel hands over what it collects
            more = self._handle.dispatch(self)
            self._flush()
            if more <= 0 or self._latest_ns >= end_ns or time.monotonic() >= until:
                return

    def take(self, time_ns: int, data: bytes, wire_length: int) -> None:
        """Take one packet."""
        self._latest_ns = time_ns
        self._writer.write(time_ns, data, wire_length, interface=self._number)
        self._packets += 1
        if self._blocks.tell() >= _BATCH:
            self._flush()

    def take_file(self, data: bytes) -> None:
        """Take the next bytes of a pcap file. Raises LiveError."""
        packets = self._parser.feed_block(data)
        if self._parser.stopped:
            raise LiveError(f"{self._handle.name}: {self._parser.error}")
        found = None
        if is_compiled and self._handle.multiplier == 1:  # else times have another unit
            found = packets.runs().blocks(_EVER, lambda _link_type: self._number)
        if found is None:
            for _, time_ns, _, content, wire_length in packets:
                self.take(time_ns, content, wire_length)
            return
        blocks, count, _, _, latest_ns = found
        self._blocks.write(blocks)
        self._packets += count
        self._latest_ns = latest_ns or self._latest_ns

    def _flush(self) -> None:
        if self._packets:
            blocks = Blocks(self._blocks.getvalue(), self._packets)
            self._blocks.seek(0)
            self._blocks.truncate()
            self._packets = 0
            self._output.put(blocks)


def main() -> int:
    """Capture until standard input ends. Return the exit code."""
    settings = LiveSettings(**json.loads(sys.argv[1]))
    settings = settings._replace(ring=Ring(*settings.ring))
    failures: list[Exception] = []
    _go_first()
    try:
        handles = [_open(name, settings) for name in settings.interfaces]
        if settings.user:
            drop_to(settings.user)
        output = _Output(settings)
        preamble, readers = _begin(handles, settings, output)
        output.begin(preamble)
    except (LiveError, OSError) as error:
        return _fail(error)
    threads = [threading.Thread(target=_run, args=(reader.run, handles, failures)) for reader in readers]
    for thread in threads:
        thread.start()
    _say(READY)
    threading.Thread(target=_wait_for_end, args=(handles,), daemon=True).start()
    for thread in threads:
        thread.join()
    try:
        output.close()
    except OSError as error:
        failures.append(error)
    return _fail(failures[0]) if failures else 0


def _go_first() -> None:
    """Take a higher priority, if the system allows it: what the kernel cannot hand over is lost.

    Linux may divide the cores among sessions. A nice value then counts only within its session, and this
    process has a session of its own, which has a nice value, too: sched(7), autogroup.
    """
    if hasattr(os, "nice"):
        with suppress(PermissionError):
            os.nice(_NICER)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():
        with suppress(OSError), open(_SESSION, "w", encoding="ascii") as session:  # noqa: PTH123
            session.write(str(_NICER))


def _open(name: str, settings: LiveSettings) -> _Handle:
    kind = ScapyHandle if settings.source == SCAPY else PcapHandle
    return kind(
        name,
        settings.capture_filter,
        promiscuous=settings.promiscuous,
        snaplen=settings.snaplen,
        buffer_mib=settings.buffer_mib,
    )


def _begin(handles: list[_Handle], settings: LiveSettings, output: _Output) -> tuple[bytes, list[_Reader]]:
    """Return the beginning of every file, and a reader for each interface."""
    preamble, readers = b"", []
    for number, handle in enumerate(handles):
        out = BytesIO()
        comment = settings.comment(settings.source)
        writer = PcapngWriter(out, comment=comment, application=settings.program)
        for one in handles:
            writer.interface(
                one.link_type,
                snaplen=settings.snaplen,
                resolution=9 if one.multiplier == 1 else 6,
                name=one.name,
                capture_filter=settings.capture_filter,
            )
        preamble = out.getvalue()
        out.seek(0)
        out.truncate()
        readers.append(_Reader(handle, number, output, writer, out))
    return preamble, readers


def _run(read: Callable[[], None], handles: list[_Handle], failures: list[Exception]) -> None:
    try:
        read()
    except BrokenPipeError:
        pass  # the process that started us has ended
    except (LiveError, OSError) as error:
        failures.append(error)
    for handle in handles:  # one lost interface ends the capture: its missing packets would not be seen
        handle.stop()


def _wait_for_end(handles: list[_Handle]) -> None:
    while os.read(0, 4096):
        pass
    for handle in handles:
        handle.stop()


def _fail(error: Exception) -> int:
    name = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
    what = error.strerror if isinstance(error, OSError) else str(error)
    _say(f"{type(error).__name__}: {name}{what}")
    return 1


def _report(line: str) -> None:
    """Say a line, unless the process that started us was killed: its ring still gets the last packets."""
    with suppress(BrokenPipeError):
        _say(line)


def _say(line: str) -> None:
    sys.stderr.buffer.write(os.fsencode(line) + b"\n")
    sys.stderr.buffer.flush()


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started us
    code = main()
    os._exit(code)  # a thread may still wait for standard input
