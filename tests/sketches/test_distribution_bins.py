"""A distribution that is written down and read back counts and merges as before."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.sketches.distribution import Distribution

_VALUES = st.lists(st.integers(0, 10**12), max_size=60)


def _of(values: list[int]) -> Distribution:
    made = Distribution()
    for value in values:
        made.add(value)
    return made


@settings(max_examples=60, deadline=None)
@given(_VALUES, _VALUES)
def test_bins_merge_to_what_one_distribution_counts(first: list[int], second: list[int]) -> None:
    made = Distribution()
    for values in (first, second):
        held = _of(values)
        zeros, bins = held.bins()
        if values:
            made.add_bins(zeros, bins, held.sum, held.min, held.max)
    assert made.facts() == _of(first + second).facts()
