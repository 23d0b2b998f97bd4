"""Percentiles of many values in little memory, mergeable without loss.

The sketch is DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with
relative-error guarantees", VLDB 2019): bins whose bounds depend on the error alone, so that merging adds
counts and loses nothing. Bins are those of the library ddsketch, which a test compares.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from math import ceil, log, log1p
from operator import mul

# A percentile is off by at most this part of its value. 1 % needs 1 160 bins from 1 us to 3 h, 40 KB.
RELATIVE_ERROR = 0.01
# Number of values stored unchanged: most clients among thousands appear once or twice.
FEW = 8
# Values that wait for their bins, 40 bytes each. Many at once take a tenth of the time.
_MOST_WAITING = 32
DistributionRow = tuple[int, list[tuple[int, int]], int, int, int]
"""The argument of `Distribution.add_bins`."""
PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))


def bin_multiplier() -> float:
    """Return the multiplier of bins: a value above 0 is in bin ceil(log2(value) * this), as in ddsketch's
    `LogarithmicMapping`.
    """
    return 1 / log1p(2 * RELATIVE_ERROR / (1 - RELATIVE_ERROR)) * log(2)


_MULTIPLIER = bin_multiplier()
_GAMMA = 1 + 2 * RELATIVE_ERROR / (1 - RELATIVE_ERROR)  # the bounds of a bin divided by each other


def _value_of(index: int) -> float:
    """Return the value that stands for all values of a bin."""
    return float(2.0 ** (index / _MULTIPLIER) * (2.0 / (1 + _GAMMA)))


class Distribution:
    """Counter of whole numbers from 0 on. Lower ones count as 0. Picklable."""

    __slots__ = ("_bins", "_few", "_packed", "_zeros", "count", "max", "min", "sum")

    def __init__(self) -> None:
        self._few: tuple[int, ...] = ()
        """Values that are in no bin yet."""
        self._bins: dict[int, int] | None = None
        """Counts by bin, made when values are more than few."""
        self._packed: tuple[array[int], array[int]] | None = None
        """Bins that were written down and their counts, until others come: a tenth of the memory."""
        self._zeros = 0
        self.count = 0
        self.sum = 0
        self.min = 0
        self.max = 0

    def add(self, value: int) -> None:
        """Count one value."""
        # Hot: once a heartbeat, and more.
        value = max(value, 0)
        self._few += (value,)
        if len(self._few) > (FEW if self._bins is None else _MOST_WAITING):
            self._own()
        self.min = min(self.min, value) if self.count else value
        self.max = max(self.max, value)
        self.count += 1
        self.sum += value

    def add_all(self, values: Iterable[int]) -> None:
        """Count many values: the same as `add` of each, for a tenth of the time."""
        counted = [value if value > 0 else 0 for value in values]
        if not counted:
            return
        self._few += tuple(counted)
        if self._bins is not None or len(self._few) > FEW:
            self._own()
        self._grow(len(counted), sum(counted), min(counted), max(counted))

    def add_times(self, value: int, times: int) -> None:
        """Count one value this often."""
        if times > 0:
            value = max(value, 0)
            zeros, bins = _in_bins((value,))
            self._put(zeros * times, {index: count * times for index, count in bins.items()})
            self._grow(times, value * times, value, value)

    def merge(self, other: Distribution) -> None:
        """Count all values of another distribution, which stays as it is."""
        if not other.count:
            return
        self._put(*other._filled())
        self._grow(other.count, other.sum, other.min, other.max)

    def quantile(self, share: float) -> int | None:
        """Return the nearest-rank quantile: the smallest value that `share` of all do not exceed.

        Within `RELATIVE_ERROR`. None without values.
        """
        return self._quantiles((share,))[0] if self.count else None

    def _quantiles(self, shares: Iterable[float]) -> list[int]:
        """Return several quantiles, if there are values."""
        zeros, held = self.bins()
        ends = list(accumulate(count for _, count in held))
        found = []
        for share in shares:
            rank = min(max(ceil(share * self.count) - 1, 0), self.count - 1)
            value = 0
            if rank >= zeros:
                value = round(_value_of(held[bisect_left(ends, rank - zeros + 1)][0]))
            found.append(min(max(value, self.min), self.max))
        return found

    def quantities(self) -> list[tuple[float, int]]:
        """Return values and the count of each, lowest first. A value is at most `RELATIVE_ERROR` off."""
        if not self.count:
            return []
        zeros, bins = self.bins()
        return [(0.0, zeros)] * bool(zeros) + [(_value_of(index), count) for index, count in bins]

    def bins(self) -> tuple[int, list[tuple[int, int]]]:
        """Return how many values are 0, and the other bins that are not empty: index and count, by index."""
        zeros, bins = self._filled()
        return zeros, sorted(bins.items())

    def add_bins(self, zeros: int, bins: Iterable[tuple[int, int]], sum_: int, low: int, high: int) -> None:
        """Count all values of a distribution that was written down: its `bins`, sum, min and max."""
        held = dict(bins)
        more = zeros + sum(held.values())
        if not more:
            return
        if self.count:
            self._put(zeros, held)
        else:
            self._zeros, self._packed = zeros, (array("q", held), array("Q", held.values()))
        self._grow(more, sum_, low, high)

    def facts(self) -> dict[str, int] | None:
        """Return `count`, `sum`, `min` and `max`, which are exact, and `PERCENTILES`, or None without
        values.
        """
        if not self.count:
            return None
        exact = {"count": self.count, "sum": self.sum, "min": self.min, "max": self.max}
        found = self._quantiles(share for _, share in PERCENTILES)
        return exact | {name: value for (name, _), value in zip(PERCENTILES, found, strict=True)}

    def _grow(self, count: int, sum_: int, low: int, high: int) -> None:
        """Count `count` more values."""
        self.min = min(self.min, low) if self.count else low
        self.max = max(self.max, high)
        self.count += count
        self.sum += sum_

    def _put(self, zeros: int, bins: Mapping[int, int]) -> None:
        own = self._own()
        self._zeros += zeros
        for index, count in bins.items():
            own[index] = own.get(index, 0) + count

    def _own(self) -> dict[int, int]:
        """Return the bins, which take all further values."""
        if self._bins is None:
            self._bins, self._packed = self._unpacked(), None
        if self._few:
            few, self._few = self._few, ()
            self._put(*_in_bins(few))
        return self._bins

    def _filled(self) -> tuple[int, dict[int, int]]:
        """Return how many values are 0, and the counts by bin, for reading."""
        if self._bins is None and not self._few:
            return self._zeros, self._unpacked()
        if self._bins is None and self._packed is None:
            return _in_bins(self._few)
        bins = self._own()
        return self._zeros, bins

    def _unpacked(self) -> dict[int, int]:
        return {} if self._packed is None else dict(zip(*self._packed, strict=True))


def _in_bins(values: Sequence[int]) -> tuple[int, dict[int, int]]:
    """Return how many values are 0, and the counts of the other ones by bin."""
    positive = [*filter(None, values)]
    # The bin of each value, without a call of Python for any.
    logs = map(log, positive, repeat(2))
    return len(values) - len(positive), Counter(map(ceil, map(mul, logs, repeat(_MULTIPLIER))))
