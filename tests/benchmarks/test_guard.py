"""The works take about the bytecodes they took: counts, which no other process changes, never a time."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _importable(benchmarks_on_path: Path) -> None:
    """Make the guard importable, which is a script next to the package."""


@pytest.mark.exhaustive
def test_nothing_is_far_beyond_the_table(benchmarks_on_path: Path) -> None:
    """In a process of its own: what other tests compiled and cached must not count as free."""
    import guard

    if not guard.table():
        pytest.skip(f"no counts for {guard.version()}: python benchmarks/guard.py --update")
    ran = subprocess.run(
        [sys.executable, str(benchmarks_on_path / "guard.py")], capture_output=True, text=True, check=False
    )
    print(ran.stdout)  # shown with -rP, and where the test fails
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("\n") == 2 + len(guard.WORKS) * len(guard.CAPTURES)


def test_counts_are_those_of_the_bytecodes_that_run() -> None:
    import guard

    def twice(times: int) -> int:
        return sum(number * 2 for number in range(times))

    few, many = guard.bytecodes(lambda: twice(10)), guard.bytecodes(lambda: twice(1010))
    assert few == guard.bytecodes(lambda: twice(10))
    assert 5 <= (many - few) / 1000 <= 15


def test_only_what_takes_more_is_told() -> None:
    import guard

    known = {"list a": 100, "check a": 100}
    counts = [guard.Count("list", "a", 125), guard.Count("check", "a", 126), guard.Count("list", "b", 10**6)]
    assert guard.beyond(counts, known) == ["check of a: 126 bytecodes an exchange, 100 in the table"]
