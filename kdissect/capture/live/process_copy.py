"""A copy of the process that computes a text and ends, while the process itself goes on with the packets.

The end of an analysis changes its counts, so it happens only once. A copy has the counts as they are between
two batches of packets, and can end them. There are no copies on Windows.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

HAS_COPIES = hasattr(os, "fork")
_CHUNK = 1 << 16
DONE = b"\0"  # nothing printable, and in no JSON
"""The end of what a copy writes."""


class ProcessCopy:
    """A running copy. `compute` receives a handle to which it writes, in the copy.

    Raises OSError if no copy can be made.
    """

    def __init__(self, compute: Callable[[int], object], ignored: tuple[str, ...] = ()) -> None:
        self._found = b""
        reading, writing = os.pipe()
        try:
            child = os.fork()
        except OSError:  # too many processes, or no memory for one
            os.close(reading)
            os.close(writing)
            raise
        if not child:
            _run(compute, writing, ignored)
        os.close(writing)
        self._reading, self._child = reading, child

    def poll(self, seconds: float) -> bool:
        """Wait at most this long for its end. Return whether it has ended."""
        until_s = time.monotonic() + seconds
        while self._reading >= 0:
            if not select.select([self._reading], [], [], max(0.0, until_s - time.monotonic()))[0]:
                return False
            part = os.read(self._reading, _CHUNK)
            self._found += part
            if not part:
                self.end()
        return True

    def end(self) -> bytes | None:
        """End it, and return what it wrote; None unless it had written everything."""
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1
            # no matter if it ended already: the process id is ours until we wait for it
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
        return self._found.removesuffix(DONE) if self._found.endswith(DONE) else None


def _run(compute: Callable[[int], object], writing: int, ignored: tuple[str, ...]) -> None:
    """In the copy: compute and exit."""
    try:
        gc.freeze()  # a collection would write to all pages, and both processes would need memory for them
        for name in ignored:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)  # the other process ends us
        compute(writing)
        write_all(writing, DONE)
    finally:
        os._exit(0)


def become(module: str, handle: int, *arguments: str) -> NoReturn:
    """In the copy: run a module of ours as a new Python, with the handle as argument. Raises OSError.

    The memory of the copy is free then. The module must write `DONE`, too.
    """
    from kdissect.capture.live.running_program import child_environment  # start-up: few commands do this

    os.set_inheritable(handle, True)
    command = [sys.executable, "-m", module, str(handle), *arguments]
    os.execve(sys.executable, command, child_environment())


def write_all(handle: int, data: bytes) -> None:
    """Write bytes to a handle. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
