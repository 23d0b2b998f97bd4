"""Counts over time, in intervals that become wider as time goes on.

Every width divides the next one and intervals begin at multiples of their width since 1970, so that two of
them can be added up exactly, whatever their widths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Intervals(ABC, Generic[T]):
    """Base of values that can be added up by interval. Picklable. `width_ns` is the current width of an
    interval.

    A subclass defines how many intervals are too many (`is_full`), which width comes next (`wider`), and the
    content of an interval (`empty`, `join`).
    """

    __slots__ = ("_first", "_held", "_last", "width_ns")

    def __init__(self, width_ns: int) -> None:
        self.width_ns = width_ns
        self._begin()

    def _begin(self) -> None:
        self._held: dict[int, T] = {}
        self._first = self._last = 0
        """Numbers of intervals, if there are any."""

    @abstractmethod
    def is_full(self) -> bool:
        """Return whether there are more intervals than there may be."""

    @abstractmethod
    def wider(self, width_ns: int) -> int:
        """Return the width after this one, a multiple of it."""

    @abstractmethod
    def empty(self) -> T:
        """Return the content of a new interval."""

    @abstractmethod
    def join(self, held: T, other: T) -> None:
        """Add the content of another interval, without changing that interval."""

    def at(self, time_ns: int) -> T:
        """Return the content of the interval at a time, to be added to."""
        index = time_ns // self.width_ns
        held = self._held.get(index)
        if held is None:
            is_new = not self._held
            held = self._held[index] = self.empty()
            self._first = index if is_new else min(self._first, index)
            self._last = index if is_new else max(self._last, index)
            while self.is_full():
                self.widen()
                held = self._held[time_ns // self.width_ns]
        return held

    def merge(self, other: Intervals[T]) -> None:
        """Add everything of another one, which stays as it is. One width has to divide the other."""
        while self.width_ns < other.width_ns:
            self.widen()
        for index, held in other.items():
            self.join(self.at(index * other.width_ns), held)

    def items(self) -> list[tuple[int, T]]:
        """Return number (time divided by the width) and content of each interval with content, in order."""
        return sorted(self._held.items(), key=_number)

    def span(self) -> int:
        """Return intervals from the first that holds something to the last."""
        return self._last - self._first + 1 if self._held else 0

    def widen(self) -> None:
        """Go on with the next width."""
        before, self.width_ns = self.width_ns, self.wider(self.width_ns)
        held = self._held
        self._begin()
        for index, one in held.items():
            self.join(self.at(index * before), one)


class Counts(Intervals[list[int]]):
    """A row of counts by interval."""

    __slots__ = ()

    @abstractmethod
    def empty(self) -> list[int]:
        """Return a zero for each count."""

    def count(self, time_ns: int, counts: Sequence[int]) -> None:
        """Add to the counts of the interval that holds a time."""
        self.join(self.at(time_ns), counts)

    def join(self, held: list[int], other: Sequence[int]) -> None:
        """Add counts."""
        for i, count in enumerate(other):
            held[i] += count


def _number(item: tuple[int, object]) -> int:
    return item[0]
