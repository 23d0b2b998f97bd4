"""Commands that capture, in a real terminal: counts are drawn in place, rows come one below the other."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.screens.tmux import LOOK_S, Terminal
from kdissect.cli import COMMANDS
from kdissect.cli.reference.completion_command import parser_of
from tests.support.console import CAPTURES, CHECKOUT, command
from tests.support.live import free_port, why_not
from tests.support.patience import PATIENCE_S
from tests.support.replay import replay

# What is counted: the capture that is said twice, options, and a heading that stands there once.
DRAWN = {
    "stats": ("kafka44_java_groups", [], "broker p99"),
    "topics": ("kafka44_java_groups", [], "written"),
    "groups": ("kafka44_java_groups", [], "rebalances  lag"),
    "producers": ("kafka44_java_transactions", [], "transactional id  client id"),
    "fetch-sessions": ("kafka44_java_groups", [], "incremental"),
    "delay": ("kafka44_java_groups", [], "timestamps of producers"),
    "offsets": ("kafka44_java_positions", [], "positions that jump"),
    "logins": ("kafka44_java_refused", [], "accepted  failed"),
    "changes": ("kafka44_java_admin", [], "what"),
    "access": ("kafka44_java_groups", [], "operation"),
    "upgrade": ("kafka28zk_sarama_releases", ["--target", "4.0"], "verdict"),
    "info": ("kafka44_java_groups", [], "exchanges by API and version"),
    "check": ("kafka44_missteps_raw", [], "PRD004"),
    "why": ("kafka44_java_refused", [], "the worst first"),
    "personal-data": ("kafka44_java_groups", [], "no personal data in"),
}
# Rows as they come: the capture, and what stands in each row.
ROWS = {
    "live": ("kafka44_java_groups", "Heartbeat"),
    "connections": ("kafka44_java_groups", "client fin"),
    "records": ("kafka44_java_groups", "shared"),
}
SCREEN = {"tui"}
FILES = {"record"}  # tests/live/test_record.py
SAME = {"mirror"}  # counts what it sees again only once: nothing changes when a capture is said twice
pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
    pytest.mark.skipif(bool(why_not("libpcap")), reason="libpcap does not capture here"),
]
COLUMNS, LINES = 220, 100


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [] if name in ("stats", "check", "live") else [pytest.mark.exhaustive]


@contextmanager
def capturing(tmp_path: Path, name: str, port: int, *more: str) -> Iterator[Terminal]:
    """Run a command that captures the traffic of a port, in a shell that stays when it ends."""
    words = command(name, "-i", "lo", "-f", f"tcp port {port}", "--source", "libpcap", *more)
    line = " ".join(f"'{word}'" for word in map(str, words))
    shell = ["sh", "-c", f"cd {CHECKOUT}; unset COLUMNS LINES; trap : INT; {line}; echo it ended; exec cat"]
    with Terminal(shell, COLUMNS, LINES, tmp_path) as terminal:
        terminal.until("Ctrl-C ends" if name != "tui" else "live")
        yield terminal


def test_all_that_capture_are_here() -> None:
    live = {name for name in COMMANDS if "-i" in parser_of(name)._option_string_actions}
    assert live == DRAWN.keys() | ROWS.keys() | SCREEN | FILES | SAME


def heading_line(screen: str, heading: str) -> int:
    """Return the line in which a heading stands, once."""
    (found,) = [at for at, line in enumerate(screen.splitlines()) if heading in line]
    return found


@pytest.mark.parametrize("name", [pytest.param(one, marks=_marks(one)) for one in DRAWN])
def test_what_is_counted_is_drawn_in_place(name: str, tmp_path: Path) -> None:
    capture, options, heading = DRAWN[name]
    port = free_port()
    with capturing(tmp_path, name, port, *options) as terminal:
        sum(replay(CAPTURES / f"{capture}.pcapng", port))
        first = terminal.until(heading)
        at = heading_line(first, heading)
        end = time.monotonic() + PATIENCE_S
        while (second := terminal.screen()) == first and time.monotonic() < end:
            sum(replay(CAPTURES / f"{capture}.pcapng", port))
            time.sleep(LOOK_S)
        assert second != first, "nothing changed"
        assert heading_line(second, heading) == at
        assert "Ctrl-C ends" not in second, "it is drawn below what stood there"
        terminal.press("C-c")
        assert "packets captured" in terminal.until("it ended")


@pytest.mark.parametrize("name", [pytest.param(one, marks=_marks(one)) for one in ROWS])
def test_rows_come_one_below_the_other(name: str, tmp_path: Path) -> None:
    capture, mark = ROWS[name]
    port = free_port()
    with capturing(tmp_path, name, port) as terminal:
        sum(replay(CAPTURES / f"{capture}.pcapng", port))
        if name != "connections":  # a connection is over a minute behind its last packet
            terminal.until(mark)
        terminal.press("C-c")
        last = terminal.until("it ended")
        assert last.count(mark) > 1
        assert "packets captured" in last


def test_the_screen_fills(tmp_path: Path) -> None:
    port = free_port()
    with capturing(tmp_path, "tui", port) as terminal:
        sum(replay(CAPTURES / "kafka44_java_groups.pcapng", port))
        terminal.until("Heartbeat v4")
        terminal.press("q")
        terminal.until("it ended")
