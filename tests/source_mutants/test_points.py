"""Mutants are what they say: one change each, of behaviour, in the place that is named."""

import ast

import pytest

from tests.source_mutants.__main__ import interval, sample_of
from tests.source_mutants.points import UNCHANGED, mutant_of, points_of


def mutants(source: str) -> dict[str, str]:
    """Return every mutant by its change, without spaces around."""
    return {point.what: ast.unparse(mutant_of(source, point.index)) for point in points_of(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"< -> <=": "a <= b", "< -> >=": "a >= b"}),
        ("a is None", {"is -> is not": "a is not None"}),
        ("a not in b", {"not in -> in": "a in b"}),
        ("a and b", {"and -> or": "a or b"}),
        ("x = not a", {"not removed": "x = a"}),
        ("x = a // b", {"// -> *": "x = a * b"}),
        ("x = 2", {"2 -> 3": "x = 3", "2 -> 1": "x = 1"}),
        ("x = True", {"True -> False": "x = False"}),
        ("x = b if a else c", {"negated condition": "x = b if not a else c"}),
        ("x = 'word'", {}),
        ("x: int = y", {}),
        ("assert a < b", {}),
    ],
)
def test_one_change_each(source: str, expected: dict[str, str]) -> None:
    found = mutants(source)
    assert {what: text for what, text in found.items() if what != "statement removed"} == expected
    assert ast.unparse(mutant_of(source, UNCHANGED)) == source


def test_what_is_removed_leaves_a_generator_one() -> None:
    source = "def f():\n    'docs'\n    yield 1\n"
    names: dict[str, object] = {}
    (removed,) = [point for point in points_of(source) if point.what == "statement removed"]
    exec(compile(mutant_of(source, removed.index), "source", "exec"), names)
    assert list(names["f"]()) == []  # type: ignore[operator]


def test_places() -> None:
    source = "LIMIT = 1\n\ndef f(a=2):\n    if a:\n        return a\n"
    found = {point.what: point for point in points_of(source)}
    assert not found["1 -> 2"].in_function
    assert not found["2 -> 3"].in_function
    assert found["negated condition"].in_function
    assert found["negated condition"].lines == range(4, 5)
    assert found["return None"].line == 5


def test_a_sample_is_the_same_for_its_seed() -> None:
    population = list(range(1000))
    first = sample_of(population, 10, "a 1")  # type: ignore[arg-type]
    assert first == sample_of(population, 10, "a 1")  # type: ignore[arg-type]
    assert first != sample_of(population, 10, "a 2")  # type: ignore[arg-type]
    assert len(set(first)) == 10


@pytest.mark.parametrize(("found", "of", "low", "high"), [(0, 60, 0.0, 0.060), (6, 60, 0.047, 0.201)])
def test_interval(found: int, of: int, low: float, high: float) -> None:
    """Values of Wilson's interval as statistical tables have them."""
    assert interval(found, of) == pytest.approx((low, high), abs=0.001)
