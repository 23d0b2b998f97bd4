"""Fixtures that all tests share, which tests a run takes, and what it tells at its end (CONTRIBUTING.md)."""

import os
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

import kdissect
from kdissect.model.native import is_compiled, why_without
from kdissect.model.run_budget import start_run

TESTS = Path(__file__).parent
CHECKOUT = TESTS.parent
# The folder that holds the package under test: of an installation, or the checkout.
PACKAGE_HOME = Path(kdissect.__file__).parent.parent
# kdissect comes from where it is tested. The folders tests, captures, benchmarks and fuzz come from the
# checkout. Processes that tests start look in the same places, and not in their working directory.
sys.path.append(str(CHECKOUT))
_PATHS = (PACKAGE_HOME, CHECKOUT, CHECKOUT / "benchmarks")
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(map(str, _PATHS)))
os.environ["PYTHONSAFEPATH"] = "1"

from tests.support.both_engines import (  # noqa: E402  found by the line above
    THIS_ENGINE,
    engine_of,
    has_second,
    is_second,
    leads_to_both,
    runs_on_both,
    scheduling_by_engine,
    with_both_engines,
)

# A run of all tests takes every n-th case of a matrix of so many cases. The Python engine takes fewer of
# the large ones, if other workers run them on the native engine, and every n-th of the other tests of a
# file. A run of a folder takes all.
LARGE_MATRIX, MIDDLE_MATRIX = 8, 4
SLICE, MIDDLE_SLICE, SLICE_OF_SECOND, SMALL_SLICE_OF_SECOND = 12, 4, 24, 2
# An exhaustive run of all tests takes every n-th of the cases that the short run leaves out: others on each
# day, so that all come in turn. A number in this variable chooses them, `all` takes all.
EXHAUSTIVE_SLICE, EXHAUSTIVE_SLICE_OF_SECOND = 5, 10
ROTATION, ALL_AT_ONCE = "KDISSECT_ROTATION", "all"
_LEFT_OUT = "exhaustive tests left out"
_OTHER_DAYS = "exhaustive tests left to runs of other days"
_left_out = pytest.StashKey[Counter[str]]()
_other_days = pytest.StashKey[Counter[str]]()
_session = pytest.StashKey[pytest.Session]()
_scheduler = pytest.StashKey[Any]()


def _raise(error: Exception) -> None:
    raise error


@pytest.fixture(scope="module", autouse=True)
def faults_fail_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let faults of kdissect's own come out of `main`, which the command line would catch and report.

    Modules that set `FAULTS_ARE_TOLD` are left out.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "FAULTS_ARE_TOLD", False):
            patch.setattr("kdissect.cli.listener_of", lambda _arguments: _raise)
        yield


@pytest.fixture(autouse=True)
def a_run_of_its_own() -> None:
    """Give each test the whole budget for decompression (`model.run_budget`)."""
    start_run()


@pytest.fixture(scope="session", autouse=True)
def engine(request: pytest.FixtureRequest) -> str:
    """Return the engine of this process.

    Tests in the folders of `both_engines.BOTH` are parametrised with it.
    """
    return getattr(request, "param", THIS_ENGINE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what the worker would not run."""
    return True if is_second() and not leads_to_both(collection_path, TESTS) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise the fixture `engine`: each worker collects the tests of its engine."""
    if runs_on_both(Path(metafunc.definition.path), TESTS):
        metafunc.parametrize("engine", [THIS_ENGINE], indirect=True)


@pytest.fixture(scope="session")
def reference() -> Path:
    """Return the reference material next to the checkout, or where `KDISSECT_REFERENCE` says; skips without
    it.
    """
    path = Path(os.environ.get("KDISSECT_REFERENCE", CHECKOUT.parent / "shared"))
    if not (path / "protocol" / "messages").is_dir():
        pytest.skip("no reference material: set KDISSECT_REFERENCE to a folder that holds protocol/messages")
    return path


def _is_by_name(config: pytest.Config) -> bool:
    """Return whether tests are asked for one by one (`pytest tests/x.py::y`)."""
    return all("::" in argument for argument in config.args)


def pytest_configure(config: pytest.Config) -> None:
    """Run a test that is asked for by its name, exhaustive or not."""
    config.stash[_left_out] = Counter()
    config.stash[_other_days] = Counter()
    # Here, so that all workers of a run have the same.
    os.environ.setdefault(ROTATION, str(date.today().toordinal()))
    if config.getoption("tx", None):
        config.option.tx = with_both_engines(config.option.tx)
    if sys.dont_write_bytecode:
        _let_children_keep_bytecode(config)
    if _is_by_name(config) and config.option.markexpr == "not exhaustive":
        config.option.markexpr = ""


def _let_children_keep_bytecode(config: pytest.Config) -> None:
    """Have the processes of tests share a folder for bytecode if it is not kept next to sources."""
    folder = tempfile.mkdtemp(prefix="kdissect-bytecode-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["PYTHONPYCACHEPREFIX"] = folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Keep the session for the scheduler."""
    session.config.stash[_session] = session


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler for workers of both engines; None leaves the choice to xdist."""
    from xdist.scheduler import WorkStealingScheduling  # not there in every environment

    scheduler = config.stash[_scheduler] = scheduling_by_engine(
        config.stash[_session], lambda: WorkStealingScheduling(config, log), config.option.tx
    )
    return scheduler


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run tests that are asked for by name in this process, where `-s` and a debugger have the terminal.

    Otherwise one worker more than this process may use cores: workers also wait for servers and programs.
    """
    return 0 if _is_by_name(config) else _cores() + 1


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what the short run leaves out of each matrix: all but every n-th case, counted from the last."""
    if is_second():
        items[:] = [item for item in items if runs_on_both(item.path, TESTS)]
    is_of_all = _is_of_all_tests(config)
    dropped = set()
    for cases, step, days in _slices(items, is_of_all):
        for index, item in enumerate(reversed(cases)):
            if not index % step and item.get_closest_marker("exhaustive") is None:
                continue
            item.add_marker(pytest.mark.exhaustive)
            if days > 1 and (index + int(os.environ[ROTATION])) % days:
                dropped.add(item)
    items[:] = [item for item in items if item not in dropped]
    config.stash[_other_days][THIS_ENGINE] = len(dropped)


def _slices(items: list[pytest.Item], is_of_all: bool) -> Iterator[tuple[list[pytest.Item], int, int]]:
    """Yield tests that belong together, with n and days.

    The short run takes every n-th of them. The exhaustive runs of so many days take the others.
    """
    matrices: dict[str, list[pytest.Item]] = defaultdict(list)
    small: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        matrices[item.nodeid.partition("[")[0]].append(item)
    rotates = is_of_all and os.environ[ROTATION] != ALL_AT_ONCE
    days_of_second = EXHAUSTIVE_SLICE_OF_SECOND if rotates else 1
    for cases in matrices.values():
        sampled, rotated = (_number(cases[0], name) for name in ("sampled", "rotated"))
        is_large = is_of_all and len(cases) >= LARGE_MATRIX
        is_middle = is_of_all and not (is_large or sampled) and len(cases) >= MIDDLE_MATRIX
        if is_second() and is_of_all and not (is_large or sampled):
            small[cases[0].path] += cases
        elif is_second():
            yield cases, sampled or (SLICE_OF_SECOND if is_large else 1), days_of_second if is_large else 1
        else:
            days = rotated or (EXHAUSTIVE_SLICE if is_large or is_middle else 1)
            usual = SLICE if is_large else MIDDLE_SLICE if is_middle else 1
            yield cases, sampled or usual, days if rotates else 1
    for tests in small.values():
        yield tests, SMALL_SLICE_OF_SECOND, days_of_second


def _number(item: pytest.Item, name: str) -> int:
    """Return the number that a marker of a test has; 0 without that marker."""
    marker = item.get_closest_marker(name)
    return 0 if marker is None else int(marker.args[0])


def _is_of_all_tests(config: pytest.Config) -> bool:
    """Return True for a run of all tests, False if folders, files or tests are named."""
    return all(Path(argument).resolve() in (TESTS, CHECKOUT) for argument in config.args)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what `-m 'not exhaustive'` leaves out; `-k` is asked for by the person, who knows."""
    config = items[0].config
    if config.option.markexpr == "not exhaustive" and not config.option.keyword:
        count = sum(item.get_closest_marker("exhaustive") is not None for item in items)
        config.stash[_left_out][THIS_ENGINE] += count


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints what this one left out."""
    scheduler = session.config.stash.get(_scheduler, None)
    if scheduler is not None and not scheduler.collection_is_completed and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR  # the workers of an engine ended while collecting
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None:
        told[_LEFT_OUT] = session.config.stash[_left_out][THIS_ENGINE]
        told[_OTHER_DAYS] = session.config.stash[_other_days][THIS_ENGINE]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Record what a worker left out; all workers of an engine collect the same tests."""
    told = getattr(node, "workeroutput", {})  # a worker that crashed reports nothing
    for name, counts in ((_LEFT_OUT, _left_out), (_OTHER_DAYS, _other_days)):
        if told.get(name):
            node.config.stash[counts][engine_of(node)] = told[name]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what did not run, with a line for each reason."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())
    )
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        terminalreporter.write_line(f"{count} skipped: {' '.join(reason.split())}")
    if left_out := config.stash[_left_out].total():
        terminalreporter.write_line(f"{left_out} {_LEFT_OUT}; `pytest -m exhaustive` runs them")
    other_days = config.stash[_other_days].total()
    if other_days and config.option.markexpr != "not exhaustive":
        terminalreporter.write_line(
            f"{other_days} {_OTHER_DAYS} ({ROTATION}={os.environ[ROTATION]}); "
            f"`{ROTATION}={ALL_AT_ONCE} pytest -m exhaustive` runs them"
        )
    terminalreporter.write_line(f"tested {PACKAGE_HOME / 'kdissect'} with {_engines(config)}")
    if PACKAGE_HOME == CHECKOUT and (other := _other_installation()):
        terminalreporter.write_line(
            f"These tests ran on the sources in {CHECKOUT}, not on the package installed in {other}. "
            "To test that package, run `pytest` instead of `python -m pytest`."
        )


def _other_installation() -> Path | None:
    """Return the folder of an installed kdissect that is not the checkout, or None."""
    for found in distributions(name="kdissect", path=[each for each in sys.path if each]):
        package = Path(str(found.locate_file("kdissect")))
        if package.is_dir() and not package.samefile(CHECKOUT / "kdissect"):
            return package.parent
    return None


def _engines(config: pytest.Config) -> str:
    """Return the engines that the tests of this run used."""
    if not is_compiled:
        return f"the Python engine, without the native engine: {why_without()}"
    return "both engines" if has_second(config.getoption("tx", None) or ()) else "the native engine"
