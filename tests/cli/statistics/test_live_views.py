"""Statistics of a live capture on a terminal: drawn in place while it goes on, printed once at the end."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.console import CAPTURES, CHECKOUT, command
from tests.support.live import LiveRun, free_port, why_not
from tests.support.patience import PATIENCE_S
from tests.support.replay import replay

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals"),
    pytest.mark.skipif(bool(why_not("libpcap")), reason="libpcap does not capture here"),
]


class Terminal:
    """What a command shows on a terminal of 80 columns and 24 lines."""

    def __init__(self, *arguments: object) -> None:
        self._screen, other = pty.openpty()
        environment = os.environ | {
            "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            command(*arguments), stdin=subprocess.DEVNULL, stdout=other, stderr=other, cwd=CHECKOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(other)
        self.text = ""

    def until(self, mark: str, behind: int = 0) -> None:
        """Read on until something is shown, behind a place."""
        end = time.monotonic() + PATIENCE_S
        while mark not in self.text[behind:] and time.monotonic() < end and self._read():
            pass
        assert mark in self.text[behind:], self.text[-2000:]

    def _read(self) -> bool:
        try:
            if select.select([self._screen], [], [], 1)[0]:
                self.text += os.read(self._screen, 65536).decode()
        except OSError:  # the other end is closed
            return False
        return True

    def end(self) -> str:
        """Ctrl-C; gives all that was shown."""
        self.process.send_signal(signal.SIGINT)
        while self._read():
            if self.process.poll() is not None and not select.select([self._screen], [], [], 0)[0]:
                break
        assert self.process.wait(PATIENCE_S) == 0
        os.close(self._screen)
        return self.text


@contextmanager
def capturing(name: str, port: int, *more: str) -> Iterator[Terminal]:
    """Run a command that captures the traffic of a port."""
    shown = Terminal(name, "-i", "lo", "-f", f"tcp port {port}", "--source", "libpcap", *more)
    try:
        shown.until("Ctrl-C ends")
        yield shown
    finally:
        if shown.process.poll() is None:
            shown.process.kill()


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("stats", "Heartbeat"),
        *(
            pytest.param(*one, marks=pytest.mark.exhaustive)
            for one in (("groups", "cooperative"), ("topics", "shared"), ("producers", "epoch"))
        ),
    ],
)
def test_it_is_drawn_in_place(name: str, mark: str) -> None:
    port = free_port()
    with capturing(name, port) as shown:
        sum(replay(GROUPS, port))
        shown.until(mark)
        assert shown.text.count(ENTER) == 1
        first = len(shown.text)
        sum(replay(GROUPS, port))
        shown.until("\x1b[H", first)
        text = shown.end()
    assert text.count(ENTER) == text.count(LEAVE) == 1
    drawn, _, printed = text.partition(LEAVE)
    assert drawn.count("\x1b[H") >= 2
    assert mark in printed
    assert "\x1b[H" not in printed
    for screen in drawn.split("\x1b[H")[1:]:
        assert screen.count("\n") < 24


@pytest.mark.exhaustive
def test_counts_go_on() -> None:
    """What is drawn are the counts so far, and drawing changes none of them."""
    port = free_port()
    with capturing("stats", port) as shown:
        exchanges = sum(replay(GROUPS, port)) // 2
        shown.until(f" {exchanges} ")
        sum(replay(GROUPS, port))
        shown.until(f" {2 * exchanges} ")
        text = shown.end()
    totals = [int(found) for found in re.findall(r"\nall +(\d+) ", text)]
    assert totals == sorted(totals)
    assert totals[-1] == 2 * exchanges


@pytest.mark.exhaustive
def test_in_a_pipe_there_is_the_end_alone() -> None:
    port = free_port()
    live = LiveRun("stats", "-i", "lo", "-f", f"tcp port {port}", "--source", "libpcap")
    sum(replay(GROUPS, port))
    time.sleep(1.5)
    ran = live.end()
    assert "\x1b" not in ran.out
    assert ran.out.count("errors by code") == 1
