"""Draws the current output of a statistics command for a live capture, in place on a terminal, repeatedly.

A copy of the process prints, and ends (`capture.live.process_copy`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from kdissect.api import Dissection
from kdissect.capture.live.captures import LiveCaptures
from kdissect.capture.live.process_copy import ProcessCopy
from kdissect.cli.diagnostics import ENDING_SIGNALS
from kdissect.cli.output import Output
from kdissect.model.wording import plural

EVERY_S = 1.0
_PATIENCE_S = 5.0  # a copy that takes longer is ended
_PACKETS_PART = 10  # drawing takes one part of the time in this number: the other parts are for packets
# The alternate screen, where long lines are cut, and back. Then the cursor home, and erasing to the end of
# the line, and of the screen.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?7l", "\x1b[?7h\x1b[?1049l"
_HOME, _REST_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


class LiveView:
    """Draws what `write` writes to an output, while packets are captured. Use it as a context.

    The terminal is as it was afterwards, and what it shows then stays.
    """

    def __init__(self, dissection: Dissection, output: Output, write: Callable[[Output], object]) -> None:
        assert isinstance(dissection.captures, LiveCaptures)
        self._lag = dissection.captures.lag
        self._output = output
        self._write = write
        self._due_s = time.monotonic() + EVERY_S
        self._is_shown = False

    def __enter__(self) -> None:
        self._lag.between = self._tick

    def __exit__(self, *_error: object) -> None:
        self._lag.between = None
        if self._is_shown:
            self._say(_LEAVE)

    def _tick(self) -> None:
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        text = self._text()
        if text is not None:
            self._draw(text)
        took_s = time.monotonic() - now_s
        self._due_s = time.monotonic() + max(EVERY_S, _PACKETS_PART * took_s)

    def _draw(self, text: str) -> None:
        _, height = shutil.get_terminal_size()
        lines = text.splitlines()
        if len(lines) > height - 1:
            left = len(lines) - (height - 2)
            lines = [*lines[: height - 2], f"... and {plural(left, 'line')} more at the end"]
        self._say(
            ("" if self._is_shown else _ENTER)
            + _HOME
            + "".join(f"{line}{_REST_OF_LINE}\n" for line in lines)
            + _REST
        )
        self._is_shown = True

    def _say(self, text: str) -> None:
        self._output.write(text.encode("utf-8", "surrogateescape"))
        self._output.flush()

    def _text(self) -> str | None:
        """Return the current output; None if a copy fails."""
        try:
            copy = ProcessCopy(self._print, ENDING_SIGNALS)
        except OSError:
            return None
        copy.poll(_PATIENCE_S)
        found = copy.end()
        return None if found is None else found.decode("utf-8", "replace")

    def _print(self, writing: int) -> None:
        """In the copy: print."""
        self._output.divert(writing)
        self._write(self._output)
        self._output.flush()
