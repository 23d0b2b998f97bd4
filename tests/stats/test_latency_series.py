"""Response times over time, held against the values themselves."""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.sketches.distribution import RELATIVE_ERROR
from kdissect.stats.times.series import MAX_POINTS, LatencySeries, Series

events = st.lists(st.tuples(st.integers(0, 10**12), st.integers(1, 10**9)), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(events)
def test_each_interval_has_the_times_of_its_exchanges(rows: list[tuple[int, int]]) -> None:
    latency, series = LatencySeries(), Series()
    for time_ns, latency_ns in rows:
        latency.add(time_ns, latency_ns)
        series.add(time_ns, 0, 0, 0)
    narrow = series.narrowed(20)
    by_interval = defaultdict(list)
    for time_ns, latency_ns in rows:
        by_interval[time_ns // narrow.width_ns * narrow.width_ns].append(latency_ns)
    found = latency.like(narrow).points()
    assert [(begin, times.count, times.max) for begin, times in found] == [
        (begin, len(values), max(values)) for begin, values in sorted(by_interval.items())
    ]
    for begin, times in found:
        values = sorted(by_interval[begin])
        median = values[(len(values) - 1) // 2]
        assert abs((times.quantile(0.5) or 0) - median) <= RELATIVE_ERROR * median + 1


def test_long_captures_have_few_intervals_as_wide_as_those_of_the_rates() -> None:
    latency, series = LatencySeries(), Series()
    for second in range(5000):
        latency.add(second * 10**9, second)
        series.add(second * 10**9, 1, 1, 0)
    assert len(latency.points()) <= MAX_POINTS
    assert latency.width_ns == series.width_ns
    assert [begin for begin, _ in latency.points()] == [point.time_ns for point in series.points()]
    assert sum(times.count for _, times in latency.points()) == 5000
