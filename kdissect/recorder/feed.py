"""The capture that fills the ring: begun again if its interface disappears."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from kdissect.capture.capture_file import STEP_NS, CaptureFile
from kdissect.capture.live.captures import LiveCaptures
from kdissect.capture.live.lag import Behind
from kdissect.capture.live.live_settings import STDIN, LiveError

_PAUSES_S = (1.0, 2.0, 5.0, 10.0, 30.0)
_LOOK_S = 0.25
_LAG_AT_END_S = 5.0


def set_by(before_ns: int, now_ns: int) -> int:
    """Return by how much a clock was set back between two packets: 0 if it was not."""
    return now_ns - before_ns if before_ns and now_ns < before_ns - STEP_NS else 0


class Feed:
    """Opens a capture with `begin`, and again after it ended in trouble, if it `returns`.

    An analysis that lags by more than `longest_lag_s` leaves out files, if this is not 0. `between` is called
    while the analysis has nothing to do. Any thread may call `stop`.
    """

    def __init__(
        self, begin: Callable[[], LiveCaptures], returns: bool, between: Callable[[], None],
        say: Callable[[str], object], longest_lag_s: float = 0.0,
    ) -> None:  # fmt: skip
        self._begin = begin
        self._longest_lag_s = longest_lag_s
        self._unanalysed = 0
        self._between = between
        self._say = say
        self._packets = self._drops = 0
        self._file: CaptureFile | None = None
        self.captures = self._begun()
        self.is_remote = self.captures.settings.source == STDIN
        """Whether the packets have the clock of another machine."""
        self._returns = returns and not self.is_remote
        self._packet_ns = self._seen_at_ns = self._set_by_ns = 0
        self.is_over = False
        """Whether no packets follow."""
        self.trouble = ""
        """Why the capture ended, if nobody asked for it."""
        self.is_stopped = False
        """Whether somebody asked for the end."""

    def _begun(self) -> LiveCaptures:
        captures = self._begin()
        captures.lag.between = self._between
        captures.longest_lag_s = self._longest_lag_s
        return captures

    def stop(self) -> None:
        """End the capture, and an analysis that lags. Safe in a signal handler."""
        self.is_stopped = True
        self._end(self.captures)

    @property
    def packets(self) -> int:
        """Packets of the files that were read so far."""
        return self._packets + (self._file.packets if self._file is not None else 0)

    @property
    def drops(self) -> int:
        """Packets that the capture lost, as far as these files report it."""
        return self._drops + (self._file.drops if self._file is not None else 0)

    @property
    def unanalysed(self) -> int:
        """Bytes of files that the analysis left out."""
        return self._unanalysed + self.captures.unanalysed

    @property
    def now_ns(self) -> int:
        """The time by the clock of the packets: that of another machine for standard input."""
        if not self.is_remote:
            return time.time_ns()
        self._see_clock()
        if not self._packet_ns:
            return time.time_ns()
        return self._packet_ns + time.monotonic_ns() - self._seen_at_ns

    def take_set_by_ns(self) -> int:
        """Return by how much the clock of the packets was set back since the last call."""
        self._see_clock()
        by_ns, self._set_by_ns = self._set_by_ns, 0
        return by_ns

    def _see_clock(self) -> None:
        latest_ns = self._file.clock_ns if self._file is not None else None
        if latest_ns is not None and latest_ns != self._packet_ns:
            self._set_by_ns += set_by(self._packet_ns, latest_ns)
            self._packet_ns, self._seen_at_ns = latest_ns, time.monotonic_ns()

    def is_late(self) -> bool:
        """Return whether the analysis lags so much that it leaves out packets."""
        return self.captures.is_late()

    def behind(self) -> Behind:
        """Return the lag of the analysis."""
        return self.captures.behind()

    def opened(self) -> Iterator[CaptureFile | None]:
        """Yield each file that the capture begins, and None where packets are missing: it was begun again, or
        files were left out.
        """
        while True:
            captures = self.captures
            for file in captures.opened():
                if captures.has_left_out:
                    captures.has_left_out = False
                    self._say("the analysis lags: it goes on with newer packets")
                    yield None
                self._file = file
                yield file
                self._see_clock()  # a short capture may be over before anybody asked for the time
                self._packets, self._drops, self._file = self.packets, self.drops, None
            captures.close()
            self._unanalysed += captures.unanalysed
            captures.unanalysed = 0
            is_expected = self.is_stopped or not captures.trouble
            if is_expected or not self._returns:
                self.trouble = "" if is_expected else captures.trouble
                self.is_over = True
                return
            self._say(f"{captures.trouble}; the capture is tried again")
            if not self._reopen():
                self.is_over = True
                return
            yield None

    def _stop_if_asked(self) -> None:
        """End the new capture if `stop` was called while it began."""
        if self.is_stopped:
            self._end(self.captures)

    def _end(self, captures: LiveCaptures) -> None:
        if captures.longest_lag_s:
            captures.longest_lag_s = _LAG_AT_END_S
        captures.stop()

    def _reopen(self) -> bool:
        """Begin the capture again, as soon as that works. Return False if it was stopped."""
        attempt = 0
        while not self.is_stopped:
            until = time.monotonic() + _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)]
            while time.monotonic() < until and not self.is_stopped:
                time.sleep(_LOOK_S)
                self._between()
            attempt += 1
            try:
                self.captures = self._begun()
            except (LiveError, OSError):
                continue
            self._stop_if_asked()
            self._say("the capture goes on")
            return True
        return False
