"""What `python -m pytest` takes, and what it says of the rest: with our settings, on other tests."""

import shutil
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parent.parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
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
LEFT_OUT = "4 exhaustive tests left out; `python -m pytest -m exhaustive` runs them"


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    shutil.copy(ROOT / "tests" / "conftest.py", pytester.path / "conftest.py")
    pytester.makepyprojecttoml(
        f"[tool.pytest.ini_options]\naddopts = {SETTINGS['addopts']!r}\nmarkers = {SETTINGS['markers']!r}\n"
    )
    pytester.makepyfile(test_some=TESTS)
    return pytester


def told(folder: pytest.Pytester, *arguments: str) -> tuple[int, list[str]]:
    """The exit code, and all lines but those of progress."""
    ran = folder.runpytest_subprocess(*arguments, "-p", "no:cacheprovider")
    return int(ran.ret), [
        line for line in ran.outlines if line and not line.startswith((".", "s", "bringing"))
    ]


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
