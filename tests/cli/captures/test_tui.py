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
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pyte
import pytest

from kdissect.capture.live.bindings import list_interfaces
from kdissect.capture.live.live_settings import LiveError
from tests.support.console import CAPTURES, CHECKOUT, command, run
from tests.support.patience import PATIENCE_S

PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"
COLUMNS, ROWS = 120, 40


def test_it_needs_a_terminal() -> None:
    ran = run("tui", PRODUCE)
    assert ran.code == 2
    assert "needs a terminal" in ran.err


def test_it_needs_an_input() -> None:
    assert run("tui").code == 2
    assert run("tui", PRODUCE, "-i", "lo").code == 2


@pytest.mark.parametrize("how", [(), ("--web",)], ids=" ".join)
def test_nothing_to_open_opens_no_screen(how: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_text("no capture")
    with Terminal("/nowhere.pcap", tmp_path / "text.pcap", *how) as terminal:
        assert terminal.end() == 3
        assert terminal.seen.decode().splitlines() == [
            "kdissect: /nowhere.pcap: No such file or directory",
            f"kdissect: {tmp_path / 'text.pcap'}: not a capture, but text",
        ]


@pytest.mark.exhaustive
def test_what_was_not_read_is_told_at_the_end() -> None:
    with Terminal(CAPTURES / "kafka44_java_tls13.pcapng") as terminal:
        terminal.wait_for("! 1 warning")
        terminal.press(b"q")
        assert terminal.end() == 0
        told = terminal.seen.decode().splitlines()[-1]
        assert "kdissect: warning: 15 of 30 connections are TLS without keys" in told


class Terminal:
    """A process on a terminal of 120x40, drawn by an emulator; it is killed where a test gives up on it."""

    def __init__(self, *arguments: object, stdin: int | None = None) -> None:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._drawn = pyte.ByteStream(self._screen)
        self._kept = TemporaryDirectory()  # what other tests leave in a user's folder is none of its business
        sizes = {"COLUMNS", "LINES"}  # of another terminal
        environment = {name: value for name, value in os.environ.items() if name not in sizes} | {
            "TERM": "xterm-256color", "XDG_CONFIG_HOME": self._kept.name,
        }  # fmt: skip
        self.process = subprocess.Popen(
            command("tui", *arguments), stdin=follower if stdin is None else stdin, stdout=follower,
            stderr=follower, env=environment, cwd=CHECKOUT, preexec_fn=_own_terminal(follower),  # noqa: PLW1509
        )  # fmt: skip
        os.close(follower)
        self._leader = leader
        self.seen = b""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *failure: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._leader)
        self._kept.cleanup()

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self._screen.display)

    def wait_for(self, wanted: str) -> None:
        """Read on until this stands on the screen."""
        until = time.monotonic() + PATIENCE_S
        while wanted not in self.text:
            assert time.monotonic() < until, self.text
            if select.select([self._leader], [], [], 1)[0]:
                self._read()

    def _read(self) -> bytes:
        data = os.read(self._leader, 1 << 16)
        self.seen += data
        self._drawn.feed(data)
        return data

    def press(self, keys: bytes) -> None:
        os.write(self._leader, keys)

    def end(self) -> int:
        """Read to the end; gives the exit code."""
        with suppress(OSError):  # how Linux tells that nobody has the other end open any more
            while self._read():
                pass
        return self.process.wait(PATIENCE_S)


def _own_terminal(follower: int) -> Callable[[], None]:
    def begin() -> None:
        os.setsid()
        fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

    return begin


def test_from_open_to_quit() -> None:
    with Terminal(PRODUCE, "/nowhere.pcap") as terminal:
        terminal.wait_for("InitProducerId")
        terminal.press(b"/")
        terminal.wait_for("tab Complete")
        terminal.press(b"api == Produce")
        terminal.wait_for("api == Produce")
        terminal.press(b"\r")
        terminal.wait_for(" of 54")
        terminal.press(b"q")
        assert terminal.end() == 3
        assert b"/nowhere.pcap: No such file or directory" in terminal.seen


@pytest.mark.exhaustive
def test_keys_come_from_the_terminal_where_the_capture_is_standard_input() -> None:
    with PRODUCE.open("rb") as capture, Terminal("-", stdin=capture.fileno()) as terminal:
        terminal.wait_for("InitProducerId")
        terminal.press(b"q")
        assert terminal.end() == 0


def can_capture() -> bool:
    try:
        return os.geteuid() == 0 and bool(list_interfaces())
    except (LiveError, AttributeError):
        return False


@pytest.mark.exhaustive
@pytest.mark.skipif(not can_capture(), reason="capturing needs libpcap and a permission")
def test_a_live_capture_ends_with_the_screen() -> None:
    with Terminal("-i", "lo", "-f", "tcp port 1") as terminal:
        terminal.wait_for("live")
        process = terminal.process.pid
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        assert children
        terminal.press(b"q")
        assert terminal.end() == 0
    for child in children:
        until = time.monotonic() + PATIENCE_S
        while Path(f"/proc/{child}").exists():
            assert time.monotonic() < until, "a worker stayed"
            time.sleep(0.05)
