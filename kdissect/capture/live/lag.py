"""The lag of the analysis after the recorder."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

# Times are noted no more often than this: a lag of an hour is 72 000 marks.
_MARK_S = 0.05


class Behind(NamedTuple):
    """Recorded data that are not yet analysed: bytes, and the seconds since the oldest of them came."""

    bytes: int
    seconds: float


class Lag:
    """Lag between recorder and analysis. The recorder calls `wrote`, the analysis `read`, each from its own
    thread.

    The analysis calls `between` when it has finished its input, also while it waits for more.
    """

    def __init__(self) -> None:
        self.between: Callable[[], None] | None = None
        self.written = 0
        self.analysed = 0
        self.most = Behind(0, 0.0)
        """The largest lag that `behind` found."""
        self._marks: deque[tuple[int, float]] = deque()
        self._next_mark = 0.0
        self._lock = threading.Lock()  # who asks forgets marks

    def wrote(self, count: int) -> None:
        """Bytes were recorded."""
        now = time.monotonic()
        if now >= self._next_mark or not self._marks:
            self._marks.append((self.written, now))
            self._next_mark = now + _MARK_S
        self.written += count

    def read(self, count: int) -> None:
        """Bytes were handed to the analysis."""
        self.analysed += count

    def pause(self) -> None:
        """Note that the analysis has finished its input."""
        if self.between is not None:
            self.between()

    def behind(self) -> Behind:
        """Return the present lag. Any thread may call it."""
        with self._lock:
            return self._behind()

    def _behind(self) -> Behind:
        marks, analysed = self._marks, self.analysed
        while len(marks) > 1 and marks[1][0] <= analysed:
            marks.popleft()
        if analysed >= self.written or not marks:
            return Behind(0, 0.0)
        now = Behind(self.written - analysed, time.monotonic() - marks[0][1])
        if now.seconds > self.most.seconds:
            self.most = now
        return now


class Uncounted(Lag):
    """The lag of files that no analysis reads: nothing is noted, since nobody forgets it."""

    def wrote(self, count: int) -> None:
        """Do nothing."""

    def read(self, count: int) -> None:
        """Do nothing."""
