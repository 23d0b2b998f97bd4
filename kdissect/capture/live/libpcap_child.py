"""A process that captures with libpcap and writes pcapng to its standard output: our own dumpcap.

A process and not a thread, because analysis holds the interpreter for milliseconds at a time, and a ring of
the kernel that nobody empties drops packets. Run as `python -m kdissect.capture.live.libpcap_child SETTINGS`
with a JSON object; says `ready` on stderr when it captures, one line with the kind of the error when it
cannot go on; ends when its standard input is closed.
"""

import json
import os
import sys
import threading
import time
from io import BytesIO
from typing import Any

from kdissect.capture.live.bindings import Handle
from kdissect.capture.live.errors import LiveError
from kdissect.capture.writer import PcapngWriter

READY = "ready"
_STDOUT = 1
_STATISTICS_S = 1.0
# What is gathered before it is written while packets keep coming; a pipe holds 1 MiB at most.
_BATCH = 1 << 18


class _Output:
    """One stream of blocks that several threads write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = BytesIO()
        self.writer = PcapngWriter(self._blocks, application="kdissect")

    def flush(self, blocks: bytes = b"") -> None:
        with self._lock:
            rest = memoryview(self._blocks.getvalue() + blocks)
            self._blocks.seek(0)
            self._blocks.truncate()
            while rest:
                rest = rest[os.write(_STDOUT, rest) :]


class _Reader:
    """The packets of one interface, as blocks."""

    def __init__(self, handle: Handle, number: int, output: _Output, resolution: int) -> None:
        self._handle = handle
        self._number = number
        self._output = output
        self._blocks = BytesIO()
        # A writer of its own, for its interfaces count; what it begins with is not wanted.
        self._writer = PcapngWriter(self._blocks)
        for _ in range(number + 1):
            self._writer.interface(handle.link_type, resolution=resolution)
        self._empty()

    def run(self) -> None:
        due = time.monotonic() + _STATISTICS_S
        drops = 0
        while self._handle.dispatch(self._take) >= 0:
            now = time.monotonic()
            if now >= due:
                due = now + _STATISTICS_S
                before, drops = drops, self._handle.drops()
                if drops != before:
                    self._writer.statistics(self._number, drops, time_ns=time.time_ns())
            self._flush()
        self._writer.statistics(self._number, self._handle.drops(), time_ns=time.time_ns())
        self._flush()

    def _take(self, time_ns: int, data: bytes, wire_length: int) -> None:
        self._writer.write(time_ns, data, wire_length, interface=self._number)
        if self._blocks.tell() >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._blocks.tell():
            self._output.flush(self._blocks.getvalue())
            self._empty()

    def _empty(self) -> None:
        self._blocks.seek(0)
        self._blocks.truncate()


def main() -> int:
    """Capture until standard input ends; gives the exit code."""
    settings: dict[str, Any] = json.loads(sys.argv[1])
    try:
        handles = _open(settings)
    except LiveError as error:
        return _fail(error)
    output = _Output()
    readers = []
    for number, handle in enumerate(handles):
        resolution = 9 if handle.multiplier == 1 else 6
        output.writer.interface(
            handle.link_type,
            snaplen=settings["snaplen"],
            resolution=resolution,
            name=handle.name,
            capture_filter=settings["capture_filter"],
        )
        readers.append(_Reader(handle, number, output, resolution))
    output.flush()
    failures: list[LiveError] = []
    threads = [threading.Thread(target=_run, args=(reader, handles, failures)) for reader in readers]
    for thread in threads:
        thread.start()
    _say(READY)
    threading.Thread(target=_wait_for_end, args=(handles,), daemon=True).start()
    for thread in threads:
        thread.join()
    for handle in handles:
        handle.close()
    return _fail(failures[0]) if failures else 0


def _open(settings: dict[str, Any]) -> list[Handle]:
    return [
        Handle(
            name,
            settings["capture_filter"],
            promiscuous=settings["promiscuous"],
            snaplen=settings["snaplen"],
            buffer_mib=settings["buffer_mib"],
        )
        for name in settings["interfaces"]
    ]


def _run(reader: _Reader, handles: list[Handle], failures: list[LiveError]) -> None:
    try:
        reader.run()
    except LiveError as error:
        failures.append(error)
    except BrokenPipeError:
        pass  # whoever started us is gone
    for handle in handles:  # one gone interface ends the capture: what is missing would not be seen
        handle.stop()


def _wait_for_end(handles: list[Handle]) -> None:
    while os.read(0, 4096):
        pass
    for handle in handles:
        handle.stop()


def _fail(error: LiveError) -> int:
    _say(f"{type(error).__name__}: {error}")
    return 1


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started us
    code = main()
    os._exit(code)  # a thread may still wait for standard input
