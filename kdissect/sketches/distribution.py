"""Percentiles of many values in little memory, mergeable without loss.

The sketch is DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with
relative-error guarantees", VLDB 2019): bins whose bounds depend on the error alone, so that merging adds
counts and loses nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from math import ceil, log, log1p
from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddsketch import DDSketch

# A percentile is off by at most this part of its value. 1 % needs 1 160 bins from 1 us to 3 h, 9 KB.
RELATIVE_ERROR = 0.01
# Number of values stored unchanged: most clients among thousands appear once or twice.
FEW = 8
# Values that wait for the sketch, 40 bytes each. It takes many at once in a tenth of the time.
_MOST_WAITING = 32
DistributionRow = tuple[int, list[tuple[int, int]], int, int, int]
"""The argument of `Distribution.add_bins`."""
PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))


def bin_multiplier() -> float:
    """Return the multiplier of bins: a value above 0 is in bin ceil(log2(value) * this), as in ddsketch's
    `LogarithmicMapping`.
    """
    # Worked out as the library does, which takes 20 ms to import. A test holds both equal.
    return 1 / log1p(2 * RELATIVE_ERROR / (1 - RELATIVE_ERROR)) * log(2)


class Distribution:
    """Counter of whole numbers from 0 on. Lower ones count as 0. Picklable."""

    __slots__ = ("_few", "_sketch", "count", "max", "min", "sum")

    def __init__(self) -> None:
        self._few: tuple[int, ...] = ()
        """Values that are not in the sketch, of 1,500 bytes at least, made when they are more than few."""
        self._sketch: DDSketch | None = None
        self.count = 0
        self.sum = 0
        self.min = 0
        self.max = 0

    def add(self, value: int) -> None:
        """Count one value."""
        # Hot: once a heartbeat, and more.
        value = max(value, 0)
        self._few += (value,)
        if len(self._few) > (FEW if self._sketch is None else _MOST_WAITING):
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
        if self._sketch is None and len(self._few) + len(counted) <= FEW:
            self._few += tuple(counted)
        else:
            _put_all(self._own(), counted)
        self._grow(len(counted), sum(counted), min(counted), max(counted))

    def merge(self, other: Distribution) -> None:
        """Count all values of another distribution, which stays as it is."""
        if not other.count:
            return
        self._own().merge(other._filled())
        self._grow(other.count, other.sum, other.min, other.max)

    def quantile(self, share: float) -> int | None:
        """Return the nearest-rank quantile: the smallest value that `share` of all do not exceed.

        Within `RELATIVE_ERROR`. None without values.
        """
        return self._quantiles((share,))[0] if self.count else None

    def _quantiles(self, shares: Iterable[float]) -> list[int]:
        """Return several quantiles, if there are values."""
        # The library goes through its bins for each, one by one in Python.
        sketch: Any = self._filled()
        store, mapping, zeros = sketch._store, sketch._mapping, round(sketch._zero_count)  # noqa: SLF001
        ends = list(accumulate(store.bins))
        found = []
        for share in shares:
            rank = min(max(ceil(share * self.count) - 1, 0), self.count - 1)
            value = 0
            if rank >= zeros:
                value = round(mapping.value(bisect_left(ends, rank - zeros + 1) + store.offset))
            found.append(min(max(value, self.min), self.max))
        return found

    def quantities(self) -> list[tuple[float, int]]:
        """Return values and the count of each, lowest first. A value is at most `RELATIVE_ERROR` off."""
        if not self.count:
            return []
        zeros, bins = self.bins()
        sketch: Any = self._filled()
        mapping = sketch._mapping  # noqa: SLF001
        return [(0.0, zeros)] * bool(zeros) + [(mapping.value(index), count) for index, count in bins]

    def bins(self) -> tuple[int, list[tuple[int, int]]]:
        """Return how many values are 0, and the other bins that are not empty: index and count, by index."""
        if not self.count:
            return 0, []
        # The library hands out bins by protobuf alone, which has no other use here.
        sketch: Any = self._filled()
        store, zeros = sketch._store, sketch._zero_count  # noqa: SLF001
        return round(zeros), [
            (index, round(count)) for index, count in enumerate(store.bins, store.offset) if count
        ]

    def add_bins(self, zeros: int, bins: Iterable[tuple[int, int]], sum_: int, low: int, high: int) -> None:
        """Count all values of a distribution that was written down: its `bins`, sum, min and max."""
        held = list(bins)
        more = zeros + sum(count for _, count in held)
        if not more:
            return
        sketch: Any = self._own()
        if held:
            # Not one by one: the library copies its bins each time that they reach further.
            store = sketch._store  # noqa: SLF001
            store.add(min(held)[0], 0)
            store.add(max(held)[0], 0)
            for index, count in held:
                store.bins[index - store.offset] += count
            store.count += more - zeros
        sketch._count += more  # noqa: SLF001
        sketch._zero_count += zeros  # noqa: SLF001
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

    def _own(self) -> DDSketch:
        """Return the sketch, which takes all further values."""
        self._sketch, self._few = self._filled(), ()
        return self._sketch

    def _filled(self) -> DDSketch:
        """Return the sketch, or one of the first values, for reading."""
        if self._sketch is not None:
            if self._few:
                waiting, self._few = self._few, ()
                _put_all(self._sketch, waiting)
            return self._sketch
        from ddsketch import DDSketch  # start-up: 20 ms, which commands without percentiles do not pay

        made = DDSketch(RELATIVE_ERROR)
        _put_all(made, self._few)
        return made


def _put_all(sketch: Any, values: Sequence[int]) -> None:
    """Add values from 0 on to a sketch."""
    positive = [*filter(None, values)]
    # `LogarithmicMapping.key` of each value, without a call of Python for any.
    logs = map(log, positive, repeat(2))
    keys = Counter(map(ceil, map(mul, logs, repeat(sketch._mapping._multiplier))))  # noqa: SLF001
    for key, count in keys.items():
        sketch._store.add(key, count)  # noqa: SLF001
    sketch._count += len(values)  # noqa: SLF001
    sketch._zero_count += len(values) - len(positive)  # noqa: SLF001
