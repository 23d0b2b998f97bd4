"""Counts over time, in intervals that become wider as the capture becomes longer.

Every width divides the next one and intervals begin at multiples of their width since 1970, so that the
points of two series can be added up exactly, whatever the widths they have come to.
"""

from collections.abc import Sequence
from typing import NamedTuple

_MS = 1_000_000
# Each divides the next: 10 ms to a day.
WIDTHS_NS = tuple(
    ms * _MS
    for ms in (
        10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000,
        21_600_000, 86_400_000,
    )
)  # fmt: skip
# Enough for a picture on any screen; 200 bytes each.
MAX_POINTS = 600
_WIDER = 10  # beyond a day: only damaged files have such times


class Point(NamedTuple):
    """What happened within one interval."""

    time_ns: int
    exchanges: int
    request_bytes: int
    response_bytes: int
    errors: int


class Series:
    """Exchanges, bytes and errors over time. Picklable.

    `width_ns` is that of an interval now. Points without traffic are left out.
    """

    __slots__ = ("_points", "width_ns")

    def __init__(self, width_ns: int = WIDTHS_NS[0]) -> None:
        self.width_ns = width_ns
        self._points: dict[int, list[int]] = {}

    def add(self, time_ns: int, request_bytes: int, response_bytes: int, errors: int) -> None:
        """Count one exchange."""
        self._count(time_ns // self.width_ns, (1, request_bytes, response_bytes, errors))

    def add_point(self, time_ns: int, *counts: int) -> None:
        """Count what a `Point` of the same width holds."""
        self._count(time_ns // self.width_ns, counts)

    def merge(self, other: "Series") -> None:
        """Count everything of another series, which stays as it is. One width has to divide the other."""
        while self.width_ns < other.width_ns:
            self._widen()
        for point in other.points():
            self._count(point.time_ns // self.width_ns, point[1:])

    def points(self) -> list[Point]:
        """The intervals with traffic, in order."""
        return [Point(index * self.width_ns, *self._points[index]) for index in sorted(self._points)]

    def narrowed(self, points: int) -> "Series":
        """The same in intervals so wide that at most `points` of them span it."""
        found = Series(self.width_ns)
        found.merge(self)
        while found.span() > points:
            found._widen()
        return found

    def span(self) -> int:
        """Intervals from the first with traffic to the last."""
        return max(self._points) - min(self._points) + 1 if self._points else 0

    def _count(self, index: int, counts: Sequence[int]) -> None:
        point = self._points.get(index)
        if point is not None:
            for i, count in enumerate(counts):
                point[i] += count
            return
        self._points[index] = list(counts)
        while len(self._points) > MAX_POINTS:
            self._widen()

    def _widen(self) -> None:
        before, self.width_ns = self.width_ns, next_width(self.width_ns)
        points, self._points = self._points, {}
        for index, counts in points.items():
            self._count(index * before // self.width_ns, counts)


def next_width(width_ns: int) -> int:
    """The next wider interval."""
    return next((width for width in WIDTHS_NS if width > width_ns), width_ns * _WIDER)
