"""Tallies of the exchanges with one set of labels: numbers, bytes, times in buckets."""

from bisect import bisect_left
from copy import copy
from typing import Self

from kdissect.session.exchange import Exchange, State
from kdissect.sketches.distribution import DistributionRow
from kdissect.stats.times.response_time import ResponseTime

_MS = 1_000_000
# Upper bounds (ns): a broker on the same network answers Metadata in half a millisecond, and
# request.timeout.ms is 30 s (CommonClientConfigs). They stay the same for ever: Prometheus adds buckets up by
# bound.
BOUNDS_NS = tuple(
    round(ms * _MS)
    for ms in (0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)
)


class TimeHistogram:
    """Histogram of times (ns): the number of times up to each bound, and their sum."""

    __slots__ = ("counts", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)  # the last: beyond all bounds
        self.sum_ns = 0

    def add(self, time_ns: int) -> None:
        """Count one time. A negative one counts as 0."""
        time_ns = max(time_ns, 0)
        self.counts[bisect_left(BOUNDS_NS, time_ns)] += 1
        self.sum_ns += time_ns

    def add_row(self, row: DistributionRow | None) -> None:
        """Add the native engine's counts, in these bins. Ignore None."""
        if row is not None:
            _, bins, sum_ns, _, _ = row
            self.sum_ns += sum_ns
            for index, count in bins:
                self.counts[index] += count

    def copy(self) -> Self:
        """Return the same counts, which do not change any more."""
        new = copy(self)
        new.counts = self.counts[:]
        return new

    def buckets(self) -> list[tuple[str, float]]:
        """Return pairs of upper bound in seconds and count of all times up to it, as Prometheus has them."""
        total, found = 0, []
        for bound, count in zip((*BOUNDS_NS, None), self.counts, strict=True):
            total += count
            found.append(("+Inf" if bound is None else repr(bound / 1e9), float(total)))
        return found


class ExchangeTally:
    """Exchanges of one API, broker and client id: frames, bytes (size prefixes included), latencies."""

    __slots__ = (
        "latency", "request_bytes", "requests", "response_bytes", "responses", "throttle_ns", "unanswered",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = self.responses = self.unanswered = 0
        self.request_bytes = self.response_bytes = 0
        self.throttle_ns = 0
        self.latency = TimeHistogram()

    def add(self, exchange: Exchange, times: ResponseTime | None) -> None:
        """Count one exchange. `times` are None if it has no latency."""
        if exchange.request is not None:
            self.requests += 1
            self.request_bytes += exchange.request.bytes_on_wire or 0
        if exchange.response is not None:
            self.responses += 1
            self.response_bytes += exchange.response.bytes_on_wire or 0
        self.unanswered += exchange.state is State.UNANSWERED
        if times is not None:
            self.latency.add(times.latency)
            self.throttle_ns += times.throttle

    def copy(self) -> Self:
        """Return the same counts, which do not change any more."""
        new = copy(self)
        new.latency = self.latency.copy()
        return new


class TopicTally:
    """Exchanges of one API that name one topic. `record_bytes` is the size of its batches on the wire."""

    __slots__ = ("latency", "record_bytes", "requests")

    def __init__(self) -> None:
        self.requests = self.record_bytes = 0
        self.latency = TimeHistogram()

    def copy(self) -> Self:
        """Return the same counts, which do not change any more."""
        new = copy(self)
        new.latency = self.latency.copy()
        return new


class Count:
    """A number that grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def copy(self) -> Self:
        """Return the same number, which does not change any more."""
        return copy(self)
