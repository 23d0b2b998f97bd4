"""Runs tests against mutants in forks of one process that has collected the tests already."""

import ast
import contextlib
import json
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from tests.source_mutants.planting import plant_before_import, plant_in_functions
from tests.source_mutants.points import UNCHANGED, Point, mutant_of

CHECKOUT = Path(__file__).parent.parent.parent
# A mutant for which all tests together take longer counts as one that survived them.
BUDGET_S = 15.0
# One test: a mutant that keeps it so much longer than the original does counts as noticed.
_LONGER, _LEAST_S = 20, 20.0
_MEMORY = 4 << 30
# Tests of each file that run before the others of any file.
_FIRST = 6
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


class Outcome(NamedTuple):
    """`state` is "killed", "survived" or "not covered"; `by` is the test that noticed, or how many ran."""

    place: Place
    state: str
    by: str


class _Known(NamedTuple):
    """What the tests do without a mutant: seconds by test, and tests by file and line."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]


class Trials:
    """A pytest plugin: instead of running the tests once, tries them on each mutant."""

    def __init__(self, package: Path, places: Sequence[Place]) -> None:
        self._package, self._places = package, places
        self.outcomes: list[Outcome] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try them all."""
        items = {item.nodeid: item for item in session.items}
        known = _without_mutant(self._package, list(items.values()))
        control = Place(self._places[0].path, Point(UNCHANGED, "", 0, range(0), False))
        failed, _ = _from_the_beginning(control, list(known.seconds)[:1], known)
        if failed:
            raise pytest.UsageError(f"without a mutant, too, {failed} fails")
        for place in self._places:
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
        if covering:
            tests = _in_order(covering, known, items)
            killer, ran = _tried(place, [items[each] for each in tests], known)
            if killer and killer != _NOT_PLANTED:
                return Outcome(place, "killed", killer)
            if not killer and "cache" not in place.path.read_text():
                return Outcome(place, "survived", f"{ran} of {len(tests)} tests")
        # A module that is imported, or what it computed once, is older than the mutant: begin again.
        users = covering or set().union(*by_line.values(), *(set(items) for _ in range(not by_line)))
        tests = _in_order(users, known, items)
        killer, ran = _from_the_beginning(place, tests, known)
        if killer:
            return Outcome(place, "killed", killer)
        is_covered = bool(covering) or not place.point.in_function
        return Outcome(place, "survived" if is_covered else "not covered", f"{ran} of {len(tests)} tests")

    def _check_what_noticed(self, known: _Known, items: dict[str, pytest.Item]) -> None:
        """A test that fails alone without a mutant proves nothing when it fails with one."""
        for nodeid in {outcome.by for outcome in self.outcomes if outcome.by in items}:
            killer, _ = _forked(lambda items=[items[nodeid]]: items, known, lambda: None)
            if killer:
                print(f"fails without a mutant: {nodeid}")
                self.outcomes = [
                    one._replace(state="survived") if one.by == nodeid else one for one in self.outcomes
                ]


def _in_order(tests: Iterable[str], known: _Known, items: dict[str, pytest.Item]) -> list[str]:
    """Tests that passed: some of every file first, files of quick tests first, in a file in its order."""
    order = {nodeid: at for at, nodeid in enumerate(items)}
    files = defaultdict(list)
    for nodeid in sorted(set(tests) & known.seconds.keys(), key=order.__getitem__):
        files[nodeid.partition("::")[0]].append(nodeid)
    quick_first = sorted(
        files.values(), key=lambda file: sum(known.seconds[each] for each in file) / len(file)
    )
    first, later = [], []
    for file in quick_first:
        step = max(1, len(file) // _FIRST)
        first += file[::step][:_FIRST]
        later += [each for each in file if each not in set(file[::step][:_FIRST])]
    return first + later


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
        begun = time.perf_counter()
        if _passes(item, following):
            seconds[item.nodeid] = time.perf_counter() - begun
    noted.stop()
    data = noted.get_data()
    lines = {
        file: {
            line: {each for each in tests if each} for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    result.write_bytes(pickle.dumps(_Known(seconds, lines)))


def _passes(item: pytest.Item, following: pytest.Item | None, *, may_skip: bool = False) -> bool:
    """Whether it passed; one that was skipped did not, where `may_skip` does not say that it did."""
    reports = _reports(item, following)
    skipped = any(report.skipped for report in reports)
    return not any(report.failed for report in reports) and (may_skip or not skipped)


def _reports(item: pytest.Item, following: pytest.Item | None) -> list[pytest.TestReport]:
    from _pytest.runner import runtestprotocol  # pytest's own, which reports through no hook with log=False

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    return runtestprotocol(item, log=False, nextitem=following)


def _tried(place: Place, items: list[pytest.Item], known: _Known) -> tuple[str, int]:
    """The test that noticed a mutant of functions, empty if none did; and how many ran."""
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
            _run_until_noticed(items_of(), writing)
        finally:
            os._exit(1)
    os.close(writing)
    return _watched(child, reading, known)


def _run_until_noticed(items: list[pytest.Item], writing: int) -> NoReturn:
    """Run tests until one fails. Writes `+name` before a test, `!` when it failed, and `.` at the end."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    begun = time.monotonic()
    for item, following in zip(items, [*items[1:], None], strict=True):
        os.write(writing, f"+{item.nodeid}\n".encode())
        if not _passes(item, following, may_skip=True):
            os.write(writing, b"!\n")
            os._exit(0)
        if time.monotonic() - begun > BUDGET_S:
            break
    os.write(writing, b".\n")
    os._exit(0)


def _watched(child: int, reading: int, known: _Known) -> tuple[str, int]:
    """Follow a run; one that ends without saying so, or hangs in a test, was brought down by the mutant."""
    limit = _Limit(3 * _LEAST_S + BUDGET_S)
    name, ran, killed = _START, 0, ""
    for line in _lines_of(reading, limit):
        if line[:1] != "+":
            killed = name if line == "!" else ""
            break
        name, ran = line[1:], ran + 1
        limit.seconds = max(_LEAST_S, _LONGER * known.seconds.get(name, 0))
    else:
        killed = _NOT_PLANTED if name == _START else f"{name}: no end"
    _end(child)
    return killed, ran


@dataclass
class _Limit:
    seconds: float


def _lines_of(reading: int, limit: _Limit) -> Iterator[str]:
    """Lines of a pipe until it is closed, or until one takes longer than the limit."""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        buffered = b""
        while select.select([pipe], [], [], limit.seconds)[0]:
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
    plan = {"path": str(place.path), "index": place.point.index, "tests": tests, "pipe": writing}
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
        killed, ran = _watched_process(process, reading, known)
    return killed, ran


def _watched_process(process: "subprocess.Popen[bytes]", reading: int, known: _Known) -> tuple[str, int]:
    try:
        return _watched(process.pid, reading, known)
    finally:
        process.returncode = 0


class FreshRun:
    """A pytest plugin: runs the tests of a plan, in its order, until one notices."""

    def __init__(self, tests: list[str], pipe: int) -> None:
        self._tests, self._pipe = tests, pipe

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run them."""
        items = {item.nodeid: item for item in session.items}
        _run_until_noticed([items[each] for each in self._tests if each in items], self._pipe)


def fresh_run() -> None:
    """Load the mutant that the environment names, and run its tests."""
    plan = json.loads(Path(os.environ.pop(_PLAN)).read_text())
    path = Path(plan["path"])
    place = Place(path, Point(plan["index"], "", 0, range(0), False))
    plant_before_import(place.module, path, place.mutant)
    files = list(dict.fromkeys(each.partition("::")[0] for each in plan["tests"]))
    pytest.main([*files, *OPTIONS], plugins=[FreshRun(plan["tests"], plan["pipe"])])


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
