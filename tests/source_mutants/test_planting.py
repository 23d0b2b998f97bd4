"""A mutant in the place of a module: its loaded functions behave as the mutant's."""

import sys
from pathlib import Path

import pytest

from tests.source_mutants.planting import plant_before_import, plant_in_functions
from tests.source_mutants.points import Point, mutant_of, points_of

SOURCE = """\
LIMIT = 3

def outer(value):
    return [each for each in (lambda: value + 1, lambda: value - 1)]

class Thing:
    def is_small(self, value):
        return value < LIMIT
"""


def index_of(what: str) -> Point:
    (found,) = [point for point in points_of(SOURCE) if point.what == what]
    return found


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"planted_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


@pytest.mark.exhaustive
def test_in_functions_that_are_loaded(module: str, tmp_path: Path) -> None:
    loaded = __import__(module)
    path = tmp_path / f"{module}.py"
    add, subtract = loaded.outer(5)
    is_small = loaded.Thing().is_small
    assert (add(), subtract(), is_small(3)) == (6, 4, False)
    plant_in_functions(module, path, mutant_of(SOURCE, index_of("< -> <=").index))
    assert is_small(3)


def test_in_functions_inside_others(module: str, tmp_path: Path) -> None:
    loaded = __import__(module)
    plant_in_functions(module, tmp_path / f"{module}.py", mutant_of(SOURCE, index_of("- -> +").index))
    add, subtract = loaded.outer(5)
    assert (add(), subtract()) == (6, 6)


def test_what_a_module_computes_needs_another_import(module: str, tmp_path: Path) -> None:
    path = tmp_path / f"{module}.py"
    mutant = mutant_of(SOURCE, index_of("3 -> 4").index)
    plant_before_import(module, path, mutant)
    try:
        assert __import__(module).LIMIT == 4
        with pytest.raises(LookupError):
            plant_in_functions(module, path, mutant_of(SOURCE, index_of("3 -> 2").index))
    finally:
        del sys.meta_path[0]
