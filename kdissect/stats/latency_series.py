"""Response times over time: a distribution in each interval of a `Series`."""

from __future__ import annotations

from kdissect.sketches.distribution import Distribution
from kdissect.stats.series import MAX_POINTS, WIDTHS_NS, Series, next_width


class LatencySeries:
    """Nanoseconds by interval. Picklable. Up to 9 KB an interval, 5 MB for all.

    Intervals become wider as those of a `Series` that counts the same exchanges do, so that `like` always has
    the same intervals as that.
    """

    __slots__ = ("_points", "width_ns")

    def __init__(self, width_ns: int = WIDTHS_NS[0]) -> None:
        self.width_ns = width_ns
        self._points: dict[int, Distribution] = {}

    def add(self, time_ns: int, latency_ns: int) -> None:
        """Count one response time."""
        self._at(time_ns // self.width_ns).add(latency_ns)
        while len(self._points) > MAX_POINTS:
            self._widen()

    def like(self, series: Series) -> LatencySeries:
        """The same in the intervals of `series`, which are as wide or wider."""
        found = LatencySeries(self.width_ns)
        for index, point in self._points.items():
            found._at(index).merge(point)
        while found.width_ns < series.width_ns:
            found._widen()
        return found

    def points(self) -> list[tuple[int, Distribution]]:
        """Begin and response times of the intervals that have some, in order."""
        return [(index * self.width_ns, self._points[index]) for index in sorted(self._points)]

    def _at(self, index: int) -> Distribution:
        point = self._points.get(index)
        if point is None:
            point = self._points[index] = Distribution()
        return point

    def _widen(self) -> None:
        before, self.width_ns = self.width_ns, next_width(self.width_ns)
        points, self._points = self._points, {}
        for index, point in points.items():
            self._at(index * before // self.width_ns).merge(point)
