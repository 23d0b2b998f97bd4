"""`kdissect tui` as a command: on a terminal of its own, in processes of its own."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kdissect.capture.live.bindings import list_interfaces
from kdissect.capture.live.errors import LiveError
from tests.support.console import CAPTURES, CHECKOUT, command, run

PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"
PATIENCE_S = 60


def test_it_needs_a_terminal() -> None:
    ran = run("tui", PRODUCE)
    assert ran.code == 2
    assert "needs a terminal" in ran.err


def test_it_needs_an_input() -> None:
    assert run("tui").code == 2
    assert run("tui", PRODUCE, "-i", "lo").code == 2


class Terminal:
    """A process on a terminal of 120x40; `wait_for` reads until a text was written."""

    def __init__(self, *arguments: object, stdin: int | None = None) -> None:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._kept = TemporaryDirectory()  # what other tests leave in a user's folder is none of its business
        environment = os.environ | {
            "TERM": "xterm-256color", "PYTHONPATH": str(CHECKOUT), "XDG_CONFIG_HOME": self._kept.name,
        }  # fmt: skip
        self.process = subprocess.Popen(
            command("tui", *arguments), stdin=follower if stdin is None else stdin, stdout=follower,
            stderr=follower, env=environment, cwd=CHECKOUT, preexec_fn=_own_terminal(follower),  # noqa: PLW1509
        )  # fmt: skip
        os.close(follower)
        self._leader = leader
        self.seen = b""

    def wait_for(self, *wanted: bytes) -> None:
        """Read on until one of these was written."""
        start, until = len(self.seen), time.monotonic() + PATIENCE_S
        while not any(text in self.seen[start:] for text in wanted):
            assert time.monotonic() < until, self.seen[-2000:]
            if select.select([self._leader], [], [], 1)[0]:
                self.seen += os.read(self._leader, 1 << 16)

    def press(self, keys: bytes) -> None:
        os.write(self._leader, keys)

    def end(self) -> int:
        """Read to the end; gives the exit code."""
        try:
            while data := os.read(self._leader, 1 << 16):
                self.seen += data
        except OSError:
            pass
        os.close(self._leader)
        code = self.process.wait(PATIENCE_S)
        self._kept.cleanup()
        return code


def _own_terminal(follower: int) -> Callable[[], None]:
    def begin() -> None:
        os.setsid()
        fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

    return begin


def test_from_open_to_quit(tmp_path: Path) -> None:
    terminal = Terminal(PRODUCE, "/nowhere.pcap")
    terminal.wait_for(b"InitProducerId")
    for keys in (b"/", b"api == Produce", b"\r"):  # at a person's pace: the screen takes its turns between
        terminal.press(keys)
        time.sleep(0.5)
    terminal.wait_for(b" of 54")
    terminal.press(b"q")
    assert terminal.end() == 3
    assert b"/nowhere.pcap: No such file or directory" in terminal.seen


def test_keys_come_from_the_terminal_where_the_capture_is_standard_input() -> None:
    with PRODUCE.open("rb") as capture:
        terminal = Terminal("-", stdin=capture.fileno())
        terminal.wait_for(b"InitProducerId")
        terminal.press(b"q")
        assert terminal.end() == 0


def can_capture() -> bool:
    try:
        return os.geteuid() == 0 and bool(list_interfaces())
    except (LiveError, AttributeError):
        return False


@pytest.mark.skipif(not can_capture(), reason="capturing needs libpcap and a permission")
def test_a_live_capture_ends_with_the_screen() -> None:
    terminal = Terminal("-i", "lo", "-f", "tcp port 1")
    terminal.wait_for(b"live")
    children = Path(f"/proc/{terminal.process.pid}/task/{terminal.process.pid}/children").read_text().split()
    assert children
    terminal.press(b"q")
    assert terminal.end() == 0
    for child in children:
        until = time.monotonic() + PATIENCE_S
        while Path(f"/proc/{child}").exists():
            assert time.monotonic() < until, "a worker stayed"
            time.sleep(0.05)
