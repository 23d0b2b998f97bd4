"""`kdissect live` as a process beside traffic of this machine."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.console import CHECKOUT, Ran, command

PEERS = CHECKOUT / "benchmarks" / "kafka_peers.py"
END_SECONDS = 240  # nobody waits that long for anything that comes


def needs_capture() -> None:
    """Skip where this process may not capture."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("capturing needs root on Linux")


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Live:
    """A running `kdissect live`, or another command that captures, from when it says that it captures.
    `lines` are its output so far.
    """

    started: ClassVar[list["Live"]] = []

    def __init__(self, *arguments: object, before: Sequence[str] = (), name: str = "live") -> None:
        self.process = subprocess.Popen(
            [*before, *command(name, *arguments)], cwd=CHECKOUT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        Live.started.append(self)
        self.lines: list[str] = []
        self.said: list[str] = []
        self._changed = threading.Condition()
        self._captures = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()
        assert self._captures.wait(END_SECONDS), self.said

    def wait_for(self, count: int) -> None:
        """Wait until so many lines are printed."""
        with self._changed:
            done = self._changed.wait_for(lambda: len(self.lines) >= count, END_SECONDS)
        assert done, (self.lines, self.said)

    def word(self, pattern: str) -> str:
        """Return what a pattern finds in what it says."""
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end:
            found = re.search(pattern, "".join(self.said))
            if found:
                return found[1]
            time.sleep(0.01)
        raise AssertionError(self.said)

    def signal(self, number: int) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> Ran:
        """Wait for its end; code, output and what it said."""
        try:
            code = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end; it said: {''.join(self.said)}") from None
        return self._collect(code)

    def kill(self) -> None:
        """End what a failed test left behind."""
        if self.process.poll() is None:
            self.process.kill()
            self._collect(self.process.wait())

    def _collect(self, code: int) -> Ran:
        for thread in self._threads:
            thread.join(END_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return Ran(code, "".join(self.lines), "".join(self.said))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line)
                self._changed.notify_all()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if "capturing on" in line or "recording" in line:
                self._captures.set()
        self._captures.set()


class Broker:
    """A fake broker on loopback, and conversations with it."""

    def __init__(self) -> None:
        self.port = free_port()
        self._process = subprocess.Popen(
            [sys.executable, str(PEERS), "broker", "127.0.0.1", str(self.port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("listening")

    def converse(self, requests: int, size: int = 100) -> int:
        """Have a client ask; the number of exchanges."""
        said = subprocess.run(
            [sys.executable, str(PEERS), "client", "127.0.0.1", str(self.port),
             "--requests", str(requests), "--size", str(size)],
            capture_output=True, text=True, check=True, timeout=END_SECONDS,
        )  # fmt: skip
        return len(said.stdout.splitlines())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def inspected(path: Path) -> Ran:
    """Return what `inspect` prints of a file, in the format of `live` into a pipe."""
    ran = subprocess.run(
        command("inspect", path, "--format", "jsonl"),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)
