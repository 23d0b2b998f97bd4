"""Counts over time, in intervals that become wider as time goes on.

Every width divides the next one and intervals begin at multiples of their width since 1970, so that two of
them can be added up exactly, whatever the widths they have come to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Intervals(ABC):
    """Rows of counts by interval. Picklable; `width_ns` is that of an interval now.

    What is made of it says how many intervals are too many (`is_full`) and which width comes next (`wider`).
    """

    __slots__ = ("_counts", "width_ns")

    def __init__(self, width_ns: int) -> None:
        self.width_ns = width_ns
        self._counts: dict[int, list[int]] = {}

    @abstractmethod
    def is_full(self) -> bool:
        """Whether there are more intervals than there may be."""

    @abstractmethod
    def wider(self, width_ns: int) -> int:
        """The width after this one, a multiple of it."""

    def count(self, time_ns: int, counts: Sequence[int]) -> None:
        """Add to the counts of the interval that holds a time."""
        held = self._counts.get(time_ns // self.width_ns)
        if held is not None:
            for i, count in enumerate(counts):
                held[i] += count
            return
        self._counts[time_ns // self.width_ns] = list(counts)
        while self.is_full():
            self.widen()

    def merge(self, other: Intervals) -> None:
        """Count everything of another one, which stays as it is. One width has to divide the other."""
        while self.width_ns < other.width_ns:
            self.widen()
        for index, counts in other.items():
            self.count(index * other.width_ns, counts)

    def items(self) -> list[tuple[int, list[int]]]:
        """Number (time divided by the width) and counts of each interval with any, in order."""
        return sorted(self._counts.items())

    def span(self) -> int:
        """Intervals from the first with counts to the last."""
        return max(self._counts) - min(self._counts) + 1 if self._counts else 0

    def widen(self) -> None:
        """Go on with the next width."""
        before, self.width_ns = self.width_ns, self.wider(self.width_ns)
        held, self._counts = self._counts, {}
        for index, counts in held.items():
            self.count(index * before, counts)
