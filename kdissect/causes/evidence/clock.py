"""Whether times of a capture can be trusted: their unit, and their order compared with that of TCP."""

from __future__ import annotations

from math import gcd

from kdissect.report.quantities import duration
from kdissect.rules.views.connection_view import LATE_NS
from kdissect.session.info import ConnectionInfo

WENT_BACK = "the clock of the capture was set back: its times do not show what came first"
NO_TIMES = "all packets of the capture have one time: it shows neither durations nor an order"
TWICE = (
    "most connections were captured twice at different times, as by two taps with clocks that differ: counts"
    " are doubled, and times show no order"
)
_CONNECTIONS_KEPT = 10_000  # 300 bytes each
_TWO = 2
_APART_NS = 1_000_000  # by which the durations of one connection may differ at two taps
_LEAST = 3  # segments after their acknowledgment: one may be sent again without need, after a loss


class Clock:
    """Give it each connection that is over with `add`. Times are nanoseconds."""

    def __init__(self) -> None:
        self.went_back = False
        """Whether the times of a file step back."""
        self.exchanges = self.after_ack = self.after_ack_ns = 0
        self._first_ns: int | None = None
        self._unit_ns = 0
        self._last: dict[tuple[str, str], tuple[int, int, int, int]] = {}
        """Exchanges, bytes of both ends and duration of the last connection, by its ends."""
        self._connections = self._repeated = 0

    def add(self, info: ConnectionInfo) -> None:
        """Count a connection that is over."""
        self.exchanges += info.exchanges
        if self._first_ns is None:
            self._first_ns = info.start_ns
        for time_ns in (info.start_ns, info.end_ns):
            self._unit_ns = gcd(self._unit_ns, time_ns - self._first_ns)
        times = None if info.tcp is None else info.tcp.times
        self._compare(info)
        if times is not None:
            self.after_ack += times.after_ack
            self.after_ack_ns = max(self.after_ack_ns, times.after_ack_ns)

    def _compare(self, info: ConnectionInfo) -> None:
        """Count a connection that repeats the one before it on the same addresses and ports."""
        tcp, ends = info.tcp, (info.client_text, info.broker_text)
        if not info.exchanges or tcp is None or len(self._last) >= _CONNECTIONS_KEPT:
            return
        self._connections += 1
        now = info.exchanges, tcp.client_bytes, tcp.broker_bytes, info.end_ns - info.start_ns
        before = self._last.get(ends)
        if before is not None and before[:-1] == now[:-1] and abs(before[-1] - now[-1]) < _APART_NS:
            self._repeated += 1
        self._last[ends] = now

    @property
    def disorder_ns(self) -> int:
        """How much later than their acknowledgments packets stand in the capture; 0: no later."""
        return self.after_ack_ns if self.after_ack >= _LEAST else 0

    @property
    def flaw(self) -> str:
        """Why durations and the order of connections are no evidence, as a sentence. Empty if they are."""
        if self.went_back:
            return WENT_BACK
        if self.exchanges and not self._unit_ns:
            return NO_TIMES
        if _TWO * _TWO * self._repeated > self._connections:
            return TWICE
        if self.exchanges and self._unit_ns >= LATE_NS and not self._unit_ns % LATE_NS:
            return (
                f"all times of the capture are multiples of {duration(self._unit_ns)}: it does not show"
                " shorter waits"
            )
        if self.disorder_ns >= LATE_NS:
            return (
                "packets follow in the capture after their acknowledgments, by up to"
                f" {duration(self.disorder_ns)}: clocks differ, or the order was lost"
            )
        return ""
