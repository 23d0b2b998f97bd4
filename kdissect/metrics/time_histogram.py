"""Times in the buckets of a Prometheus histogram."""

from bisect import bisect_left
from copy import copy
from typing import Self

_MS = 1_000_000
# Upper bounds (ns): a broker on the same network answers Metadata in half a millisecond; request.timeout.ms
# is 30 s (CommonClientConfigs). They stay the same for ever: Prometheus adds buckets up by bound.
BOUNDS_NS = tuple(
    round(ms * _MS)
    for ms in (0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)
)


class TimeHistogram:
    """How many times (ns) there are up to each bound, and their sum."""

    __slots__ = ("counts", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_NS) + 1)  # the last: beyond all bounds
        self.sum_ns = 0

    def add(self, time_ns: int) -> None:
        """Count one time; a negative one is 0."""
        time_ns = max(time_ns, 0)
        self.counts[bisect_left(BOUNDS_NS, time_ns)] += 1
        self.sum_ns += time_ns

    def copy(self) -> Self:
        """The same counts, which do not change any more."""
        new = copy(self)
        new.counts = self.counts[:]
        return new

    def buckets(self) -> list[tuple[str, float]]:
        """Pairs of upper bound in seconds and count of all times up to it, as Prometheus has them."""
        total, found = 0, []
        for bound, count in zip((*BOUNDS_NS, None), self.counts, strict=True):
            total += count
            found.append(("+Inf" if bound is None else repr(bound / 1e9), float(total)))
        return found
