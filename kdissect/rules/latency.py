"""Latencies in bounded memory: a histogram whose buckets grow with what they hold."""

from typing import NamedTuple

# 16 buckets for each doubling: a bucket is at most 1/16 as wide as what it holds, so its middle is at most
# 3.2 % off. 63 bits of nanoseconds then need less than a thousand buckets.
_STEPS = 16
_STEP_BITS = 5  # numbers below 2 * _STEPS have a bucket each
_NEVER = 1 << 64  # longer than any latency


class Bucket(NamedTuple):
    """Nanoseconds from `low` to `high` (not included), and how many it holds."""

    low: int
    high: int
    held: int


class Latencies:
    """Latencies of one kind of exchange. `high` is the longest, exactly, in nanoseconds."""

    __slots__ = ("_counts", "_low", "high")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._low = _NEVER
        self.high = 0

    def add(self, latency_ns: int) -> None:
        """Take one latency. A negative one counts as 0: packets were captured out of their order."""
        if latency_ns < self._low:
            latency_ns = max(latency_ns, 0)
            self._low = latency_ns
        if latency_ns > self.high:
            self.high = latency_ns
        index = _index(latency_ns)
        self._counts[index] = self._counts.get(index, 0) + 1

    def merge(self, other: "Latencies") -> None:
        """Take what another one holds."""
        for low, _, held in other.buckets():
            index = _index(low)
            self._counts[index] = self._counts.get(index, 0) + held
        self._low = min(self._low, other.low) if other.count else self._low
        self.high = max(self.high, other.high)

    def put_back(self, what: str, low: int, held: int) -> None:
        """Take what was written down: a bucket, or the shortest (`_least`) or longest (`_most`) latency."""
        if what == "_least":
            self._low = held
        elif what == "_most":
            self.high = held
        else:
            self._counts[_index(low)] = held

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self._counts.values())

    @property
    def low(self) -> int:
        """The shortest, exactly; 0 for none."""
        return self._low if self._counts else 0

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


def _index(latency_ns: int) -> int:
    shift = latency_ns.bit_length() - _STEP_BITS
    return shift * _STEPS + (latency_ns >> shift) if shift > 0 else latency_ns


def _bounds(index: int) -> tuple[int, int]:
    shift = max(index // _STEPS - 1, 0)
    low = (index - shift * _STEPS) << shift
    return low, low + (1 << shift)
