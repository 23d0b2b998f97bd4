"""The progress line: on a terminal, for long files, and gone at the end."""

import io
import sys

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli import progress_line as progress
from tests.support.console import TXN


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stderr a terminal, print progress at every look at the clock, and treat no file as short.

    No fixture: pytest puts its own stderr in place between a fixture and the test.
    """
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(progress, "MIN_BYTES", 0)
    monkeypatch.setattr(progress, "_INTERVAL_S", 0)
    monkeypatch.setattr(progress, "_CHECK_EVERY", 1)
    return stderr


@pytest.mark.parametrize("command", ["inspect", "info", "connections"])
def test_shown_and_cleared(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = terminal(monkeypatch)
    assert main([command, TXN]) == 0
    shown = stderr.getvalue()
    assert "100%" in shown
    assert shown.endswith("\r\x1b[K")
    assert "\n" not in shown


def test_not_for_streams_short_files_or_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    assert progress.progress_of(Dissection(TXN)) is not None
    assert progress.progress_of(Dissection([TXN, "-"])) is None
    monkeypatch.setattr(progress, "MIN_BYTES", 1 << 20)
    assert progress.progress_of(Dissection(TXN)) is None
    monkeypatch.setattr(progress, "MIN_BYTES", 0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress.progress_of(Dissection(TXN)) is None
