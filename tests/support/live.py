"""Runs `kdissect ... -i lo` on real packets of this machine, where that is allowed."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Timer
from typing import IO

from kdissect.capture.live.live_settings import LiveError, LiveSettings
from kdissect.capture.live.programs import PROGRAMS
from kdissect.capture.live.running_program import ChildSource
from tests.support.console import CHECKOUT, Ran, command

SOURCES = ("libpcap", "dumpcap", "tcpdump", "scapy")
# A capture that has not ended by then is asked to, so that it says what it captured, and its test fails:
# nobody waits that long for anything that comes.
_PATIENCE_S = 240
_END_S = 60


@cache
def why_not(source: str, interface: str = "lo") -> str:
    """Return why a source does not capture here; empty if it does."""
    try:
        child = ChildSource(PROGRAMS[source], LiveSettings((interface,), "tcp port 1"))
    except LiveError as error:
        return str(error)
    child.stop()
    while child.read():
        pass
    child.failure()
    return ""


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class LiveRun:
    """A command that captures. Constructed when it does."""

    def __init__(self, *arguments: object, prefix: Sequence[str] = ()) -> None:
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [*prefix, *command(*arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=CHECKOUT,
            env=environment,
        )
        self._timers = [
            Timer(_PATIENCE_S, self.process.send_signal, [signal.SIGINT]),
            Timer(_PATIENCE_S + _END_S, self.process.kill),
        ]
        for timer in self._timers:
            timer.start()
        self._out = b""
        self.said = self._pipe(self.process.stderr).readline().decode()

    def lines(self, count: int) -> list[str]:
        """Wait for that many lines more on standard output."""
        out = self._pipe(self.process.stdout)
        found = [out.readline() for _ in range(count)]
        self._out += b"".join(found)
        return [line.decode() for line in found]

    @contextmanager
    def captor_stopped(self) -> Iterator[None]:
        """Let the process that captures get no CPU; Linux."""
        pid = self.process.pid
        (captor,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        os.kill(captor, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(captor, signal.SIGCONT)

    def end(self, number: signal.Signals = signal.SIGINT) -> Ran:
        """End it by a signal."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> Ran:
        """Wait for its end."""
        # Not communicate(): what readline has read ahead is in the streams' buffers.
        out = self.process.stdout.read() if self.process.stdout is not None else b""
        err = self._pipe(self.process.stderr).read()
        self.process.wait()
        for timer in self._timers:
            timer.cancel()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return Ran(self.process.returncode, (self._out + out).decode(), self.said + err.decode())

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        assert stream is not None
        return stream


def written(ran: Ran, path: Path) -> bool:
    """Return whether the summary names the file."""
    return f"written to {path}" in ran.err
