"""Runs tests against mutants in forks of one process that has collected the tests already."""

import ast
import contextlib
import json
import os
import pickle
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from tests.source_mutants.planting import plant_before_import, plant_in_functions
from tests.source_mutants.points import UNCHANGED, Point, mutant_of

CHECKOUT = Path(__file__).parent.parent.parent
# Seconds of CPU time, which other programs on the machine do not change. A mutant survives if no test fails
# within this time, or within the time that the package has instead.
BUDGET_S = 8.0
# A test fails if it needs so many times the CPU time that it needs without the mutant, and at least 10 s.
_LONGER, _LEAST_S = 20, 10.0
# A test that waits for so many seconds without a result is blocked by the mutant.
_BLOCKED_S = 120.0
_MEMORY = 4 << 30
# Tests of each file that run before the others of any file.
_FIRST = 6
# A line that fewer tests run may be one whose result is cached.
_MANY = 30
# Files of tests that a new process collects first.
_FILES = 2
_START = "the beginning"
_NOT_PLANTED = "the import"
_PLAN = "KDISSECT_SOURCE_MUTANT"


class Place(NamedTuple):
    """One mutant: where, and what was changed."""

    path: Path
    point: Point

    def __str__(self) -> str:
        return f"{self.path.relative_to(CHECKOUT)}:{self.point.line} {self.point.what}"

    @property
    def mutant(self) -> ast.Module:
        """The module with the change."""
        return mutant_of(self.path.read_text(), self.point.index)

    @property
    def module(self) -> str:
        """Its name in imports."""
        parts = self.path.relative_to(CHECKOUT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Warmth(NamedTuple):
    """What is computed once, without a mutant, for the tests of all mutants that do not change it.

    `prepare` has the caches of the tests filled. `parts` are the modules that it runs, by the ends of their
    paths: their mutants are tried before.
    """

    prepare: Callable[[], object] | None = None
    parts: tuple[str, ...] = ()

    def may_come_after(self, place: Place) -> bool:
        """Return whether a mutant changes nothing that is computed so."""
        return self.prepare is not None and not str(place.path).endswith(self.parts)

    def warm(self) -> None:
        """Compute it."""
        if self.prepare is not None:
            self.prepare()


COLD = Warmth()


class Outcome(NamedTuple):
    """`state` is "killed", "survived" or "not covered"; `by` is the test that noticed, or how many ran."""

    place: Place
    state: str
    by: str


@dataclass
class _Known:
    """What the tests do without a mutant: CPU seconds by test, and tests by file and line.

    `budget_s`: how many seconds of CPU time each mutant has.
    """

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]
    budget_s: float = BUDGET_S

    @cached_property
    def lines_by_test(self) -> Counter[str]:
        """The number of lines of the package that each test runs."""
        return Counter(
            chain.from_iterable(tests for by_line in self.lines.values() for tests in by_line.values())
        )


class Trials:
    """A pytest plugin: instead of running the tests once, tries them on each mutant."""

    def __init__(
        self, package: Path, places: Sequence[Place], budget_s: float = BUDGET_S, warmth: Warmth = COLD
    ) -> None:
        self._package, self._places, self._budget_s = package, places, budget_s
        self._warmth = warmth
        self.outcomes: list[Outcome] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try them all."""
        items = {item.nodeid: item for item in session.items}
        known = _without_mutant(self._package, list(items.values()))
        known.budget_s = self._budget_s
        control = Place(self._places[0].path, Point(UNCHANGED, "", 0, range(0), False))
        failed, _ = _from_the_beginning(control, list(known.seconds)[:1], known)
        if failed:
            raise pytest.UsageError(f"without a mutant, too, {failed} fails")
        is_warm = False
        for place in sorted(self._places, key=self._warmth.may_come_after):
            if not is_warm and self._warmth.may_come_after(place):
                self._warmth.warm()
                is_warm = True
            outcome = self._outcome(place, known, items)
            self.outcomes.append(outcome)
            print(f"{outcome.state:12} {place}  [{outcome.by}]", flush=True)
        self._check_what_noticed(known, items)
        return True

    def _outcome(self, place: Place, known: _Known, items: dict[str, pytest.Item]) -> Outcome:
        by_line = known.lines.get(str(place.path), {})
        covering: set[str] = set()
        if place.point.in_function:
            covering = by_line.get(place.point.line) or covering.union(
                *(by_line.get(line, ()) for line in place.point.lines)
            )
        near = _in_order(covering or _near(place, known), known)
        is_known = bool(covering) and self._warmth.may_come_after(place)  # nothing that it computes is kept
        tests = near + self._more(place, near, known, items, is_enough=is_known or len(covering) >= _MANY)
        if covering:
            killer, ran = _tried(place, [items[each] for each in tests], known)
            if killer and killer != _NOT_PLANTED:
                return Outcome(place, "killed", killer)
            if not killer and "cache" not in place.path.read_text():
                return Outcome(place, "survived", f"{ran} of {len(tests)} tests")
        # A module that is imported, or what it computed once, is older than the mutant: begin again.
        files = list(dict.fromkeys(each.partition("::")[0] for each in tests))[:_FILES]
        first = [each for each in near if each.startswith(tuple(f"{file}::" for file in files))]
        ran = 0
        for part in (first, [each for each in tests if each not in set(first)]):
            killer, count = _from_the_beginning(place, part, known)  # few tests are collected sooner
            ran += count
            if killer:
                return Outcome(place, "killed", killer)
        is_covered = bool(covering) or not place.point.in_function
        return Outcome(place, "survived" if is_covered else "not covered", f"{ran} of {len(tests)} tests")

    def _more(
        self, place: Place, near: Sequence[str], known: _Known, items: dict[str, pytest.Item], is_enough: bool
    ) -> list[str]:
        """Other tests, if few run the line: a cached result is computed by the first test alone.

        Tests that run any line of the file come first, then tests of the package. A test of constants runs no
        line.
        """
        if is_enough:
            return []
        of_file = set().union(*known.lines.get(str(place.path), {}).values())
        groups = [of_file, known.lines_by_test.keys()]
        if not place.point.in_function:
            groups.append(items.keys())
        tests: list[str] = []
        for group in groups:
            tests += _in_order(group - {*near, *tests}, known)
        return tests

    def _check_what_noticed(self, known: _Known, items: dict[str, pytest.Item]) -> None:
        """Run each test that noticed a mutant without one: if it fails then, it proves nothing."""
        for nodeid in {outcome.by for outcome in self.outcomes if outcome.by in items}:
            killer, _ = _forked(lambda items=[items[nodeid]]: items, known, lambda: None)
            if killer:
                print(f"fails without a mutant: {nodeid}")
                self.outcomes = [
                    one._replace(state="survived") if one.by == nodeid else one for one in self.outcomes
                ]


def _near(place: Place, known: _Known) -> set[str]:
    """Return tests that run lines with a name that the changed statement assigns."""
    statements = ast.parse(place.path.read_text()).body
    names = {
        name.id
        for each in statements
        if each.lineno <= place.point.line <= (each.end_lineno or each.lineno)
        for name in ast.walk(each)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    if not names:
        return set()
    mentioned = re.compile(rf"\b(?:{'|'.join(names)})\b")
    tests: set[str] = set()
    for file, by_line in known.lines.items():
        for number, line in enumerate(Path(file).read_text().splitlines(), 1):
            if mentioned.search(line):
                tests |= by_line.get(number, set())
    return tests


def _in_order(tests: Iterable[str], known: _Known) -> list[str]:
    """Return tests that passed: some of every file first, and in a file each function before its other cases.

    Tests that are quick and run few other lines of the package come first.
    """
    lines = known.lines_by_test
    effort = {each: (0.01 + known.seconds[each]) * lines[each] for each in set(tests) & known.seconds.keys()}
    files = defaultdict(list)
    cases: Counter[str] = Counter()
    for nodeid in sorted(effort, key=lambda each: (effort[each], each)):
        function = nodeid.partition("[")[0]
        files[nodeid.partition("::")[0]].append((cases[function], nodeid))
        cases[function] += 1
    by_file = [[nodeid for _, nodeid in sorted(file, key=lambda case: case[0])] for file in files.values()]
    first = sorted((nodeid for file in by_file for nodeid in file[:_FIRST]), key=effort.__getitem__)
    return first + [nodeid for file in by_file for nodeid in file[_FIRST:]]


def _without_mutant(package: Path, items: list[pytest.Item]) -> _Known:
    """Run each test once, in a fork, and note the lines of the package that it runs."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "known"
        child = os.fork()
        if not child:
            _quiet()
            _note_lines(package, items, result)
            os._exit(0)
        os.waitpid(child, 0)
        return pickle.loads(result.read_bytes())


def _note_lines(package: Path, items: list[pytest.Item], result: Path) -> None:
    import coverage  # an extra tool: whoever only reads points or plants them does without

    noted = coverage.Coverage(
        data_file=str(result.with_suffix(".coverage")), config_file=False, include=[f"{package}/*"]
    )
    noted.start()
    seconds = {}
    for item, following in zip(items, [*items[1:], None], strict=True):
        noted.switch_context(item.nodeid)
        begun = _cpu_seconds()
        if _passes(item, following):
            seconds[item.nodeid] = _cpu_seconds() - begun
    noted.stop()
    data = noted.get_data()
    lines = {
        file: {
            line: {each for each in tests if each} for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    result.write_bytes(pickle.dumps(_Known(seconds, lines)))


def _cpu_seconds() -> float:
    """CPU time of this process and of the processes that it started and that ended."""
    return sum(os.times()[:4])


def _passes(item: pytest.Item, following: pytest.Item | None, *, may_skip: bool = False) -> bool:
    """Return whether it passed; one that was skipped did not, where `may_skip` does not say that it did."""
    reports = _reports(item, following)
    skipped = any(report.skipped for report in reports)
    return not any(report.failed for report in reports) and (may_skip or not skipped)


def _reports(item: pytest.Item, following: pytest.Item | None) -> list[pytest.TestReport]:
    from _pytest.runner import runtestprotocol  # pytest's own, which reports through no hook with log=False

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    return runtestprotocol(item, log=False, nextitem=following)


def _tried(place: Place, items: list[pytest.Item], known: _Known) -> tuple[str, int]:
    """Return the test that noticed a mutant of functions, empty if none did; and how many ran."""
    mutant = place.mutant

    def plant() -> None:
        plant_in_functions(place.module, place.path, mutant)

    return _forked(lambda: items, known, plant)


def _forked(
    items_of: Callable[[], list[pytest.Item]], known: _Known, plant: Callable[[], None]
) -> tuple[str, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.setpgid(0, 0)
        _quiet()
        try:
            plant()
            _run_until_noticed(items_of(), writing, known.seconds, known.budget_s)
        finally:
            os._exit(1)
    os.close(writing)
    return _watched(child, reading)


def _run_until_noticed(
    items: list[pytest.Item], writing: int, seconds: dict[str, float], budget_s: float
) -> NoReturn:
    """Run tests until one fails. Writes `+name` before a test, `!` when it failed, and `.` at the end."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    begun = _cpu_seconds()
    for item, following in zip(items, [*items[1:], None], strict=True):
        _limit_cpu(max(_LEAST_S, _LONGER * seconds[item.nodeid]))
        os.write(writing, f"+{item.nodeid}\n".encode())
        if not _passes(item, following, may_skip=True):
            os.write(writing, b"!\n")
            os._exit(0)
        if _cpu_seconds() - begun > budget_s:
            break
    os.write(writing, b".\n")
    os._exit(0)


def _limit_cpu(seconds: float) -> None:
    """End this process with a signal after so much more CPU time."""
    _, highest = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, highest))


def _watched(child: int, reading: int) -> tuple[str, int]:
    """Follow a run; one that ends without saying so, or hangs in a test, was brought down by the mutant."""
    name, ran, killed = _START, 0, ""
    for line in _lines_of(reading):
        if line[:1] != "+":
            killed = name if line == "!" else ""
            break
        name, ran = line[1:], ran + 1
    else:
        killed = _NOT_PLANTED if name == _START else f"{name}: no end"
    _end(child)
    return killed, ran


def _lines_of(reading: int) -> Iterator[str]:
    """Lines of a pipe until it is closed, or until one takes too long."""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        buffered = b""
        while select.select([pipe], [], [], _BLOCKED_S)[0]:
            more = pipe.read(4096)
            if not more:
                return
            *lines, buffered = (buffered + more).split(b"\n")
            yield from (line.decode() for line in lines)


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _from_the_beginning(place: Place, tests: list[str], known: _Known) -> tuple[str, int]:
    """As `_tried`, in a process that loads the mutant instead of the module."""
    if not tests:
        return "", 0
    reading, writing = os.pipe()
    seconds = {each: known.seconds[each] for each in tests}
    plan = {
        "path": str(place.path),
        "index": place.point.index,
        "tests": seconds,
        "budget_s": known.budget_s,
        "pipe": writing,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.source_mutants.fresh_run"],
            cwd=CHECKOUT,
            env={**os.environ, _PLAN: file.name},
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        os.close(writing)
        killed, ran = _watched_process(process, reading)
    return killed, ran


def _watched_process(process: "subprocess.Popen[bytes]", reading: int) -> tuple[str, int]:
    try:
        return _watched(process.pid, reading)
    finally:
        process.returncode = 0


class FreshRun:
    """A pytest plugin: runs the tests of a plan, in its order, until one notices.

    `tests` has the CPU seconds that each test needs without a mutant.
    """

    def __init__(self, tests: dict[str, float], budget_s: float, pipe: int) -> None:
        self._tests, self._budget_s, self._pipe = tests, budget_s, pipe

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run them."""
        items = {item.nodeid: item for item in session.items}
        chosen = [items[each] for each in self._tests if each in items]
        _run_until_noticed(chosen, self._pipe, self._tests, self._budget_s)


def fresh_run() -> None:
    """Load the mutant that the environment names, and run its tests."""
    plan = json.loads(Path(os.environ.pop(_PLAN)).read_text())
    path = Path(plan["path"])
    place = Place(path, Point(plan["index"], "", 0, range(0), False))
    plant_before_import(place.module, path, place.mutant)
    files = list(dict.fromkeys(each.partition("::")[0] for each in plan["tests"]))
    pytest.main([*files, *OPTIONS], plugins=[FreshRun(plan["tests"], plan["budget_s"], plan["pipe"])])


# Without rewriting: modules are loaded as they are, for kdissect is a plugin of pytest, too.
OPTIONS = (
    "-n",
    "0",
    "-s",
    "--assert",
    "plain",
    "-p",
    "no:cacheprovider",
    "-m",
    "exhaustive or not exhaustive",
)
