"""Traffic over time, in intervals of widths that people read."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.sketches.distribution import Distribution
from kdissect.sketches.intervals import Counts, Intervals

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
    """Traffic within one interval."""

    time_ns: int
    exchanges: int
    request_bytes: int
    response_bytes: int
    errors: int


class Series(Counts):
    """Exchanges, bytes and errors over time. Points without traffic are left out."""

    __slots__ = ()

    def __init__(self, width_ns: int = WIDTHS_NS[0]) -> None:
        super().__init__(width_ns)

    def add(self, time_ns: int, request_bytes: int, response_bytes: int, errors: int) -> None:
        """Count one exchange."""
        self.count(time_ns, (1, request_bytes, response_bytes, errors))

    def empty(self) -> list[int]:
        """No exchanges, bytes or errors."""
        return [0, 0, 0, 0]

    def points(self) -> list[Point]:
        """Return the intervals with traffic, in order."""
        return [Point(index * self.width_ns, *counts) for index, counts in self.items()]

    def narrowed(self, points: int) -> Series:
        """Return a copy whose intervals are so wide that at most `points` of them span it."""
        found = Series(self.width_ns)
        found.merge(self)
        while found.span() > points:
            found.widen()
        return found

    def is_full(self) -> bool:
        """Beyond `MAX_POINTS` intervals with traffic."""
        return len(self._held) > MAX_POINTS

    def wider(self, width_ns: int) -> int:
        """Return the next width in `WIDTHS_NS`."""
        return _next_width(width_ns)


def _next_width(width_ns: int) -> int:
    """Return the next wider interval of `WIDTHS_NS`."""
    return next((width for width in WIDTHS_NS if width > width_ns), width_ns * _WIDER)


class LatencySeries(Intervals[Distribution]):
    """Nanoseconds by interval. Picklable. Up to 9 KB an interval, 5 MB for all.

    Intervals become wider with the intervals of a `Series` that counts the same exchanges, so that `like`
    always has equal intervals.
    """

    __slots__ = ()

    def __init__(self, width_ns: int = WIDTHS_NS[0]) -> None:
        super().__init__(width_ns)

    def add(self, time_ns: int, latency_ns: int) -> None:
        """Count one response time."""
        self.at(time_ns).add(latency_ns)

    def like(self, series: Series) -> LatencySeries:
        """Return a copy in the intervals of `series`, which are at least as wide."""
        found = LatencySeries(self.width_ns)
        found.merge(self)
        while found.width_ns < series.width_ns:
            found.widen()
        return found

    def points(self) -> list[tuple[int, Distribution]]:
        """Begin and response times of the intervals that have some, in order."""
        return [(index * self.width_ns, times) for index, times in self.items()]

    def empty(self) -> Distribution:
        """No response times."""
        return Distribution()

    def join(self, held: Distribution, other: Distribution) -> None:
        """Add response times."""
        held.merge(other)

    def is_full(self) -> bool:
        """Beyond `MAX_POINTS` intervals with exchanges."""
        return len(self._held) > MAX_POINTS

    def wider(self, width_ns: int) -> int:
        """Return the next width in `stats.series.WIDTHS_NS`."""
        return _next_width(width_ns)
