"""Response times over time: a distribution in each interval of a `Series`."""

from __future__ import annotations

from kdissect.sketches.distribution import Distribution
from kdissect.sketches.intervals import Intervals
from kdissect.stats.series import MAX_POINTS, WIDTHS_NS, Series, next_width


class LatencySeries(Intervals[Distribution]):
    """Nanoseconds by interval. Picklable. Up to 9 KB an interval, 5 MB for all.

    Intervals become wider as those of a `Series` that counts the same exchanges do, so that `like` always has
    the same intervals as that.
    """

    __slots__ = ()

    def __init__(self, width_ns: int = WIDTHS_NS[0]) -> None:
        super().__init__(width_ns)

    def add(self, time_ns: int, latency_ns: int) -> None:
        """Count one response time."""
        self.at(time_ns).add(latency_ns)

    def like(self, series: Series) -> LatencySeries:
        """The same in the intervals of `series`, which are as wide or wider."""
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
        """The next of `stats.series.WIDTHS_NS`."""
        return next_width(width_ns)
