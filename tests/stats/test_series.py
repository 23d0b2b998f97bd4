"""Intervals over time."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.stats.times.series import MAX_POINTS, WIDTHS_NS, Point, Series

events = st.lists(
    st.tuples(st.integers(0, 10**13), st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1)),
    max_size=40,
)


def counted(rows: list[tuple[int, int, int, int]]) -> Series:
    series = Series()
    for row in rows:
        series.add(*row)
    return series


def test_each_width_divides_the_next() -> None:
    assert all(not wide % narrow for narrow, wide in pairwise(WIDTHS_NS))


@settings(max_examples=60, deadline=None)
@given(events, events)
def test_merged_is_the_same_as_counted_at_once(
    left: list[tuple[int, int, int, int]], right: list[tuple[int, int, int, int]]
) -> None:
    merged = counted(left)
    merged.merge(counted(right))
    whole = counted(left + right)
    assert (merged.width_ns, merged.points()) == (whole.width_ns, whole.points())


def test_long_captures_have_few_points_and_lose_nothing() -> None:
    series = counted([(second * 10**9, 10, 20, second % 2) for second in range(100_000)])
    points = series.points()
    assert len(points) <= MAX_POINTS
    assert [sum(point[i] for point in points) for i in range(1, 5)] == [100_000, 10**6, 2 * 10**6, 50_000]
    assert all(not point.time_ns % series.width_ns for point in points)


def test_narrowed_to_a_picture() -> None:
    series = counted([(0, 1, 1, 0), (105 * 10**9, 1, 1, 0)])
    assert series.narrowed(20).points() == [Point(0, 1, 1, 1, 0), Point(100 * 10**9, 1, 1, 1, 0)]
    assert series.narrowed(20).width_ns == 10 * 10**9


def test_series_of_different_widths_merge() -> None:
    long = [(second * 10**9, 1, 2, 1) for second in range(5000)]
    short = [(ms * 10**6, 3, 4, 0) for ms in range(500)]
    whole = counted(long + short)
    for first, second in ((long, short), (short, long)):
        merged = counted(first)
        assert merged.width_ns != counted(second).width_ns
        merged.merge(counted(second))
        assert (merged.width_ns, merged.points()) == (whole.width_ns, whole.points())
