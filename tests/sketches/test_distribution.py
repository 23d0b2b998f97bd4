"""Percentiles against exact ones, and merging against counting in one go."""

import gc
import pickle
import tracemalloc
from math import ceil
from random import Random

import pytest
from ddsketch import DDSketch
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.sketches.distribution import (
    FEW,
    PERCENTILES,
    RELATIVE_ERROR,
    Distribution,
    bin_multiplier,
)


def exact(values: list[int], share: float) -> int:
    """Nearest rank: the definition, by sorting."""
    return sorted(values)[max(ceil(share * len(values)) - 1, 0)]


def counted(values: list[int]) -> Distribution:
    found = Distribution()
    for value in values:
        found.add(value)
    return found


def samples() -> dict[str, list[int]]:
    random = Random(6)
    return {
        "latencies": [round(random.lognormvariate(13, 2)) for _ in range(20_000)],
        "two peaks": [random.choice((400_000, 500_000_000)) for _ in range(999)],
        "few": [7, 9, 1_000_000_000],
        "one": [3],
        "zeros": [0] * 10 + [5],
    }


@pytest.mark.parametrize("name", samples())
def test_percentiles_are_within_the_error(name: str) -> None:
    values = samples()[name]
    found = counted(values).facts()
    assert found is not None
    assert [found[part] for part in ("count", "sum", "min", "max")] == [
        len(values), sum(values), min(values), max(values)
    ]  # fmt: skip
    for part, share in PERCENTILES:
        truth = exact(values, share)
        assert abs(found[part] - truth) <= RELATIVE_ERROR * truth + 1, part  # 1: rounded to whole numbers


@pytest.mark.parametrize("name", samples())
def test_values_added_together_count_like_values_added_one_by_one(name: str) -> None:
    values = [*samples()[name], -4]
    together = Distribution()
    together.add_all(values[:3])
    together.add_all([])
    together.add_all(values[3:])
    alone = counted(values)
    assert together.bins() == alone.bins()
    assert together.facts() == alone.facts()
    together.merge(alone)
    assert together.count == 2 * len(values)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 10**13), max_size=30), min_size=1, max_size=5))
def test_merged_is_the_same_as_counted_at_once(parts: list[list[int]]) -> None:
    merged = Distribution()
    for part in parts:
        merged.merge(pickle.loads(pickle.dumps(counted(part))))
    assert merged.facts() == counted([value for part in parts for value in part]).facts()


def test_merging_leaves_the_other_alone() -> None:
    left, right = counted([1, 2]), counted([3])
    left.merge(right)
    left.add(4)
    assert (left.count, right.count, right.max) == (4, 1, 3)


def test_nothing_counted() -> None:
    assert (Distribution().facts(), Distribution().quantile(0.5)) == (None, None)


@pytest.mark.parametrize("name", samples())
def test_quantities_are_the_values_within_the_error(name: str) -> None:
    values = sorted(samples()[name])
    found = [about for about, times in counted(values).quantities() for _ in range(times)]
    assert len(found) == len(values)
    for about, truth in zip(found, values, strict=True):
        assert abs(about - truth) <= RELATIVE_ERROR * truth * 1.000001  # and what floating point loses


def test_nothing_has_no_quantities_and_clocks_that_step_back_count_as_zero() -> None:
    assert Distribution().quantities() == []
    assert counted([-5, 0]).quantities() == [(0.0, 2)]


@pytest.mark.exhaustive
def test_few_values_take_no_sketch() -> None:
    """A row of `latencies` has four distributions, and most of 20,000 clients are seen once or twice."""

    def held(count: int) -> int:
        gc.collect()
        tracemalloc.start()
        found = [counted([1000, 5000]) for _ in range(count)]
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(found) == count
        return size

    held(1)  # what is loaded once
    assert (held(600) - held(100)) / 500 < 200  # 2,100 with a sketch in each


@given(st.lists(st.integers(0, 10**12), max_size=FEW + 3), st.lists(st.integers(0, 10**12), max_size=FEW + 3))
def test_few_values_are_told_as_a_sketch_tells_them(first: list[int], second: list[int]) -> None:
    few, sketched = counted(first), Distribution()
    sketched._own()
    for value in first:
        sketched.add(value)
    assert (few.facts(), few.bins(), few.quantities()) == (
        sketched.facts(), sketched.bins(), sketched.quantities()
    )  # fmt: skip
    for found in (few, sketched):
        found.merge(counted(second))
    assert (few.facts(), few.bins()) == (sketched.facts(), sketched.bins())


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=60))
def test_bins_are_those_of_the_library(values: list[int]) -> None:
    library = DDSketch(RELATIVE_ERROR)
    for value in values:
        library.add(value)
    store, found = library._store, counted(values)
    bins = [(index, round(count)) for index, count in enumerate(store.bins, store.offset) if count]
    assert found.bins() == (library._zero_count, bins if len(bins) else [])
    middles = [(library._mapping.value(index), count) for index, count in bins]
    assert [pair for pair in found.quantities() if pair[0]] == middles
    assert bin_multiplier() == library._mapping._multiplier


def written(values: list[int]) -> Distribution:
    """Return the distribution of values as it was written down."""
    one, found = Distribution(), Distribution()
    one.add_all(values)
    found.add_bins(*one.bins(), one.sum, one.min, one.max)
    return found


@pytest.mark.parametrize("more", [[], [7], list(range(0, 90_000, 1000))], ids=["none", "few", "many"])
def test_what_was_written_down_counts_as_what_was_added(more: list[int]) -> None:
    values = [0, 0, 5, 17, 17, *range(100, 100_000, 777)]
    expected = Distribution()
    expected.add_all(values + more)
    added, added_at_once, merged, target = (written(values) for _ in range(4))
    for value in more:
        added.add(value)
    added_at_once.add_all(more)
    merged.merge(written(more))
    empty = Distribution()
    empty.merge(target)
    empty.merge(written(more))
    copied = pickle.loads(pickle.dumps(added))
    for found in (added, added_at_once, merged, empty, copied):
        assert (found.bins(), found.facts()) == (expected.bins(), expected.facts())
    assert target.bins() == written(values).bins(), "it stays as it is"


def test_what_was_written_down_takes_a_fraction_of_the_memory() -> None:
    bins = [(index, 1000 + index) for index in range(300, 800)]
    sizes = []
    for is_read in (False, True):
        tracemalloc.start()
        kept = [Distribution() for _ in range(50)]
        for one in kept:
            one.add_bins(0, bins, 1, 1, 1)
            if is_read:
                one.add_bins(0, bins, 1, 1, 1)
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert sizes[0] < sizes[1] / 3
