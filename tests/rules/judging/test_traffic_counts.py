"""The time line in bounded memory, against lists that hold everything."""

from hypothesis import given
from hypothesis import strategies as st

from kdissect.rules.run_coverage.traffic_counts import FIRST_SLOT_NS, MAX_SLOTS, TimeLine

EVENTS = st.lists(st.tuples(st.integers(0, 1 << 62), st.booleans()), min_size=1, max_size=60)


def counted(events: list[tuple[int, bool]]) -> TimeLine:
    times = TimeLine()
    for time_ns, is_lost in events:
        times.add(time_ns, is_lost)
    return times


@given(EVENTS)
def test_a_time_line_stays_short_and_counts_all(events: list[tuple[int, bool]]) -> None:
    times = counted(events)
    row = times.row()
    assert len(row) == times.span() <= MAX_SLOTS
    assert times.width_ns % FIRST_SLOT_NS == 0
    expected = [[0, 0] for _ in row]
    for time_ns, is_lost in events:
        slot = expected[(time_ns - times.start_ns) // times.width_ns]
        slot[0] += 1
        slot[1] += is_lost
    assert [tuple(slot) for slot in expected] == row


@given(EVENTS, EVENTS)
def test_merging_is_adding_all(one: list[tuple[int, bool]], other: list[tuple[int, bool]]) -> None:
    merged, both = counted(one), counted(one + other)
    merged.merge(counted(other))
    assert (merged.width_ns, merged.start_ns, merged.row()) == (both.width_ns, both.start_ns, both.row())
