"""How much of the input is read, as a line on stderr: on a terminal only, for long files only."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from kdissect.api import Dissection

# Below this, reading is over before a bar says anything.
MIN_BYTES = 32 << 20
_INTERVAL_S = 0.2
_CHECK_EVERY = 64  # exchanges between two looks at the clock
_WIDTH = 30

Thing = TypeVar("Thing")


class Progress:
    """`tick()` for every event; `clear()` before anything else is written to the terminal."""

    __slots__ = ("_countdown", "_dissection", "_next", "_shown", "_started", "_total")

    def __init__(self, dissection: Dissection, total: int) -> None:
        self._dissection = dissection
        self._total = total
        self._countdown = _CHECK_EVERY
        self._started = time.monotonic()
        self._next = self._started + _INTERVAL_S
        self._shown = False

    def tick(self) -> None:
        """Something was read."""
        self._countdown -= 1
        if self._countdown:
            return
        self._countdown = _CHECK_EVERY
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _INTERVAL_S
            self._show(now - self._started)

    def ticking(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """Things that are read, with a tick for each."""
        for thing in things:
            self.tick()
            yield thing

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False

    def _show(self, seconds: float) -> None:
        done = sum(file.source.bytes_read for file in self._dissection.captures.files)
        share = min(done / self._total, 1.0)
        bar = "#" * round(share * _WIDTH)
        rate = done / seconds / 1e6
        sys.stderr.write(f"\r\x1b[K[{bar:{_WIDTH}}] {share:4.0%}  {done / 1e6:.0f} MB  {rate:.0f} MB/s")
        sys.stderr.flush()
        self._shown = True


def progress_of(dissection: Dissection) -> Progress | None:
    """Return a progress line, or None where it would disturb: no terminal, short files, streams."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    sizes = [file.size for file in dissection.captures.files]
    total = sum(size for size in sizes if size is not None)
    return Progress(dissection, total) if total >= MIN_BYTES and None not in sizes else None
