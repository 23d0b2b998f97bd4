"""Latencies and times in bounded memory, against lists that hold everything."""

import math

from hypothesis import given
from hypothesis import strategies as st

from kdissect.rules.latency import Latencies
from kdissect.rules.traffic import FIRST_SLOT_NS, MAX_SLOTS, TimeLine

TIMES = st.lists(st.integers(0, 1 << 62), min_size=1, max_size=60)


def made(values: list[int]) -> Latencies:
    held = Latencies()
    for value in values:
        held.add(value)
    return held


@given(TIMES, st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_percentiles_are_near_the_exact_ones(values: list[int], share: float) -> None:
    held = made(values)
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    assert abs(held.percentile(share) - exact) <= exact / 31
    assert (held.low, held.high, held.count) == (min(values), max(values), len(values))


@given(TIMES)
def test_every_value_stands_in_its_bucket(values: list[int]) -> None:
    buckets = made(values).buckets()
    assert sum(bucket.held for bucket in buckets) == len(values)
    for bucket in buckets:
        assert sum(bucket.low <= value < bucket.high for value in values) == bucket.held
        assert bucket.high - bucket.low <= max(1, bucket.low / 16)


@given(TIMES, TIMES)
def test_merging_is_adding_all(one: list[int], other: list[int]) -> None:
    merged = made(one)
    merged.merge(made(other))
    both = made(one + other)
    assert merged.buckets() == both.buckets()
    assert (merged.low, merged.high, merged.count) == (both.low, both.high, both.count)


def test_nothing_and_clocks_that_step_back() -> None:
    assert Latencies().percentile(0.5) == 0
    assert made([-5, 3, -2]).buckets() == [(0, 1, 2), (3, 4, 1)]


@given(st.lists(st.tuples(st.integers(0, 1 << 62), st.booleans()), min_size=1, max_size=60))
def test_a_time_line_stays_short_and_counts_all(events: list[tuple[int, bool]]) -> None:
    times = TimeLine()
    for time_ns, is_lost in events:
        times.add(time_ns, is_lost)
    row = times.row()
    assert len(row) == times.count <= MAX_SLOTS
    assert times.width_ns % FIRST_SLOT_NS == 0
    expected = [[0, 0] for _ in row]
    for time_ns, is_lost in events:
        slot = expected[(time_ns - times.start_ns) // times.width_ns]
        slot[0] += 1
        slot[1] += is_lost
    assert [tuple(slot) for slot in expected] == row
