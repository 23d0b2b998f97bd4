"""Offsets of a partition, as runs of neighbours."""

from __future__ import annotations

from bisect import bisect_right

MOST_RUNS = 10_000


class OffsetRuns:
    """A set of offsets. If it falls into more than `most` runs, the lowest ones are forgotten: `floor` is the
    offset after them.
    """

    __slots__ = ("_firsts", "_lasts", "_most", "floor")

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._most = most
        self.floor = 0

    def covers(self, first: int, last: int) -> bool:
        """Return whether the set has all offsets from one to another that are not below `floor`."""
        if last < self.floor:
            return True
        at = bisect_right(self._firsts, max(first, self.floor)) - 1
        return at >= 0 and last <= self._lasts[at]

    def add(self, first: int, last: int) -> None:
        """Add the offsets from one to another."""
        firsts, lasts = self._firsts, self._lasts
        if lasts and firsts[-1] <= first <= lasts[-1] + 1:  # nearly always
            lasts[-1] = max(lasts[-1], last)
            return
        begin = bisect_right(lasts, first - 2)  # the first run that it touches
        end = bisect_right(firsts, last + 1)
        if begin < end:
            first, last = min(first, firsts[begin]), max(last, lasts[end - 1])
        firsts[begin:end], lasts[begin:end] = [first], [last]
        if len(firsts) > self._most:
            self.floor = max(self.floor, lasts.pop(0) + 1)
            firsts.pop(0)

    def gaps(self, first: int, last: int) -> list[int]:
        """Return the lengths of the gaps in the set from one offset to another, in order."""
        found = []
        for begin, end in (*zip(self._firsts, self._lasts, strict=True), (last + 1, last + 1)):
            if first < min(begin, last + 1):
                found.append(min(begin, last + 1) - first)
            first = max(first, end + 1)
        return found

    def unseen(self, first: int, last: int) -> int:
        """Return how many offsets from one to another, that are not below `floor`, the set lacks."""
        return sum(self.gaps(max(first, self.floor), last))
