"""What `pytest` takes, and what it says of the rest: with our settings, on other tests."""

import shutil
import subprocess
import sys
import tomllib

import pytest

import kdissect
from tests.support.both_engines import NATIVE, PYTHON, THIS_ENGINE
from tests.support.console import CHECKOUT

pytest_plugins = ("pytester",)

SETTINGS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
TESTS = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(5))
def test_matrix(number):
    assert number in range(5)

@pytest.mark.exhaustive
def test_long():
    pass

@pytest.mark.parametrize("name", "abc")
def test_needs_more(name):
    pytest.skip("needs an extra")

@pytest.mark.skipif(True, reason="no compiled hot path")
def test_compiled():
    pass
"""
SKIPPED = ["3 skipped: needs an extra", "1 skipped: no compiled hot path"]
LEFT_OUT = "4 exhaustive tests left out; `pytest -m exhaustive` runs them"


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    shutil.copy(CHECKOUT / "tests" / "conftest.py", pytester.path / "conftest.py")
    pytester.makepyprojecttoml(
        f"[tool.pytest.ini_options]\naddopts = {SETTINGS['addopts']!r}\nmarkers = {SETTINGS['markers']!r}\n"
    )
    pytester.makepyfile(test_some=TESTS)
    return pytester


def told(folder: pytest.Pytester, *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code, and all lines but those of progress and of the package under test."""
    ran = folder.runpytest_subprocess(*arguments, "-p", "no:cacheprovider")
    return int(ran.ret), [
        line
        for line in ran.outlines
        if line and not line.startswith((".", "s", "bringing", "tested", "These tests"))
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("processes", ["-n2", "-n0"])
def test_the_short_run_ends_with_what_it_left_out_and_why(folder: pytest.Pytester, processes: str) -> None:
    code, lines = told(folder, processes)
    assert code == 0
    assert lines[:-1] == [*SKIPPED, LEFT_OUT]
    assert lines[-1].startswith("2 passed, 4 skipped")


def test_the_others_are_one_command(folder: pytest.Pytester) -> None:
    code, lines = told(folder, "-n0", "-m", "exhaustive")
    assert code == 0
    assert len(lines) == 1
    assert lines[0].startswith("4 passed")


def test_a_slice_has_the_last_case(folder: pytest.Pytester) -> None:
    _, lines = told(folder, "-n0", "-k", "matrix", "--collect-only")
    assert lines[:2] == ["test_some.py::test_matrix[1]", "test_some.py::test_matrix[4]"]
    assert LEFT_OUT not in lines, "-k leaves out what nobody asked for"


def test_a_test_asked_for_by_name_runs_whatever_it_is(folder: pytest.Pytester) -> None:
    code, lines = told(folder, "test_some.py::test_long", "test_some.py::test_matrix[0]")
    assert code == 0
    assert lines[-1].startswith("2 passed")


def test_nothing_to_run_is_no_success(folder: pytest.Pytester) -> None:
    assert told(folder, "-n0", "-k", "nothing_of_this_name")[0] == pytest.ExitCode.NO_TESTS_COLLECTED


ENGINES = """
from kdissect.model.native import is_compiled

def test_engine(engine):
    assert (engine == "native") == is_compiled
"""


def test_tests_of_behaviour_run_on_each_engine(folder: pytest.Pytester) -> None:
    for name in ("rules", "schema"):
        folder.mkdir(name)
        (folder.path / name / f"test_{name}.py").write_text(ENGINES)
    ran = folder.runpytest_subprocess("-n1", "-vv", "-p", "no:cacheprovider", "rules", "schema")
    engines = [NATIVE, PYTHON] if THIS_ENGINE == NATIVE else [PYTHON]
    passed = {line.partition("PASSED ")[2].split()[0] for line in ran.outlines if "PASSED " in line}
    assert passed == {
        "schema/test_schema.py::test_engine",
        *(f"rules/test_rules.py::test_engine[{engine}]" for engine in engines),
    }


@pytest.mark.exhaustive
def test_a_folder_whose_tests_run_on_one_engine_is_a_success(folder: pytest.Pytester) -> None:
    code, lines = told(folder, "-n1")
    assert code == 0
    assert lines[-1].startswith("2 passed, 4 skipped")


MATRIX = """
import pytest

def test_one(engine):
    pass

def test_other(engine):
    pass

@pytest.mark.parametrize("number", range(16))
def test_matrix(engine, number):
    pass

@pytest.mark.parametrize("number", range(4))
def test_small_matrix(engine, number):
    pass

@pytest.mark.rotated(4)
@pytest.mark.parametrize("number", range(16))
def test_rotated(engine, number):
    pass

@pytest.mark.exhaustive
@pytest.mark.rotated(3)
@pytest.mark.parametrize("number", range(3))
def test_slow(engine, number):
    pass
"""
NUMBER_OF_TESTS = 2 * 16 + 4 + 2 + 3
# The short run takes two cases of each large matrix on the native engine, one on the Python engine; one of
# the small matrix on the native engine, and every second of all small tests on the Python engine.
EXHAUSTIVE, EXHAUSTIVE_OF_SECOND = 2 * 14 + 3 + 3, 2 * 15 + 3 + 3


def cases_of(folder: pytest.Pytester, expression: str) -> list[str]:
    """Return the cases of a run, as lines, and a line that says what is left to other days."""
    ran = folder.runpytest_subprocess("-n1", "-vv", "-m", expression, "-p", "no:cacheprovider")
    assert ran.ret == 0
    cases = [line.partition("PASSED ")[2].split()[0] for line in ran.outlines if "PASSED " in line]
    other_days = [line for line in ran.outlines if "other days" in line]
    return sorted(cases) + other_days


@pytest.mark.exhaustive
def test_exhaustive_runs_of_several_days_take_what_the_short_run_leaves_out(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.path / "test_some.py").unlink()
    folder.mkdir("rules")
    (folder.path / "rules" / "test_rules.py").write_text(MATRIX)
    short = cases_of(folder, "not exhaustive")
    monkeypatch.setenv("KDISSECT_ROTATION", "all")
    whole = cases_of(folder, "exhaustive")
    engines = 2 if THIS_ENGINE == NATIVE else 1
    assert len(whole) == EXHAUSTIVE + (engines - 1) * EXHAUSTIVE_OF_SECOND
    assert len({*short, *whole}) == len(short) + len(whole) == engines * NUMBER_OF_TESTS
    seen: set[str] = set()
    slow_by_day = set()
    for day in range(10):
        monkeypatch.setenv("KDISSECT_ROTATION", str(day))
        *cases, other_days = cases_of(folder, "exhaustive")
        assert other_days == (
            f"{len(whole) - len(cases)} exhaustive tests left to runs of other days "
            f"(KDISSECT_ROTATION={day}); `KDISSECT_ROTATION=all pytest -m exhaustive` runs them"
        )
        assert len(cases) < len(whole)
        seen.update(cases)
        slow_by_day.add(sum("test_slow" in case for case in cases))
    assert seen == {*whole}
    assert max(slow_by_day) < engines * 3


def test_processes_that_tests_start_use_the_package_under_test() -> None:
    """Although they start in a folder that holds another kdissect."""
    call = "import kdissect, tests.support.console; print(kdissect.__file__)"
    ran = subprocess.run(
        [sys.executable, "-c", call], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == kdissect.__file__
