"""Latencies in bounded memory: a histogram whose buckets grow with what they hold."""

from typing import NamedTuple

# 16 buckets for each doubling: a bucket is at most 1/16 as wide as what it holds, so its middle is at most
# 3.2 % off. 63 bits of nanoseconds then need less than a thousand buckets.
_STEPS = 16
_STEP_BITS = 5  # numbers below 2 * _STEPS have a bucket each


class Bucket(NamedTuple):
    """Nanoseconds from `low` to `high` (not included), and how many it holds."""

    low: int
    high: int
    held: int


class Latencies:
    """Latencies of one kind of exchange. `low`, `high` and `total` are exact, in nanoseconds."""

    __slots__ = ("_counts", "count", "high", "low", "total")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.total = 0
        self.low = 0
        self.high = 0

    def add(self, latency_ns: int) -> None:
        """Take one latency. A negative one counts as 0: packets were captured out of their order."""
        latency_ns = max(latency_ns, 0)
        self._hold(latency_ns, 1)
        self.total += latency_ns
        if not self.count or latency_ns < self.low:
            self.low = latency_ns
        if latency_ns > self.high:
            self.high = latency_ns
        self.count += 1

    def merge(self, other: "Latencies") -> None:
        """Take what another one holds."""
        if not other.count:
            return
        for low, _, held in other.buckets():
            self._hold(low, held)
        self.low = min(self.low, other.low) if self.count else other.low
        self.high = max(self.high, other.high)
        self.total += other.total
        self.count += other.count

    def _hold(self, latency_ns: int, count: int) -> None:
        shift = max(latency_ns.bit_length() - _STEP_BITS, 0)
        index = shift * _STEPS + (latency_ns >> shift)
        self._counts[index] = self._counts.get(index, 0) + count

    def buckets(self) -> list[Bucket]:
        """The buckets that are not empty, shortest latency first."""
        return [Bucket(*_bounds(index), self._counts[index]) for index in sorted(self._counts)]

    def percentile(self, share: float) -> int:
        """The latency (ns) that `share` of 0 to 1 of the exchanges do not exceed, at most 3.2 % off; 0 for
        none.
        """
        left = share * self.count
        for bucket in self.buckets():
            left -= bucket.held
            if left <= 0:
                return min(max((bucket.low + bucket.high - 1) // 2, self.low), self.high)
        return self.high


def _bounds(index: int) -> tuple[int, int]:
    shift = max(index // _STEPS - 1, 0)
    low = (index - shift * _STEPS) << shift
    return low, low + (1 << shift)
