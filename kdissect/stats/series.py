"""What happened over time, in intervals of widths that people read."""

from typing import NamedTuple

from kdissect.sketches.intervals import Counts

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
        """The intervals with traffic, in order."""
        return [Point(index * self.width_ns, *counts) for index, counts in self.items()]

    def narrowed(self, points: int) -> "Series":
        """The same in intervals so wide that at most `points` of them span it."""
        found = Series(self.width_ns)
        found.merge(self)
        while found.span() > points:
            found.widen()
        return found

    def is_full(self) -> bool:
        """Beyond `MAX_POINTS` intervals with traffic."""
        return len(self._held) > MAX_POINTS

    def wider(self, width_ns: int) -> int:
        """The next of `WIDTHS_NS`."""
        return next_width(width_ns)


def next_width(width_ns: int) -> int:
    """The next wider interval of `WIDTHS_NS`."""
    return next((width for width in WIDTHS_NS if width > width_ns), width_ns * _WIDER)
