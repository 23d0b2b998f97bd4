"""Fixtures that all tests share, which tests a run takes, and what it tells at its end (CONTRIBUTING.md)."""

import os
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.model.run_budget import start_run

CHECKOUT = Path(__file__).parent.parent
_LEFT_OUT = "exhaustive tests left out"
_left_out = pytest.StashKey[int]()


def _raise(error: Exception) -> None:
    raise error


@pytest.fixture(scope="module", autouse=True)
def faults_fail_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the command line would bound and tell, a fault of kdissect's own, comes out of `main`.

    But in modules that say `FAULTS_ARE_TOLD`.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "FAULTS_ARE_TOLD", False):
            patch.setattr("kdissect.cli.listener_of", lambda _arguments: _raise)
        yield


@pytest.fixture(autouse=True)
def a_run_of_its_own() -> None:
    """What one test decompressed leaves as much for the next one (`model.run_budget`)."""
    start_run()


@pytest.fixture(scope="session")
def reference() -> Path:
    """The reference material beside the checkout, or where `KDISSECT_REFERENCE` says; skips without it."""
    path = Path(os.environ.get("KDISSECT_REFERENCE", CHECKOUT.parent / "shared"))
    if not (path / "protocol" / "messages").is_dir():
        pytest.skip("no reference material: set KDISSECT_REFERENCE to a folder that holds protocol/messages")
    return path


def _is_by_name(config: pytest.Config) -> bool:
    """Whether tests are asked for one by one (`pytest tests/x.py::y`)."""
    return all("::" in argument for argument in config.args)


def pytest_configure(config: pytest.Config) -> None:
    """Run a test that is asked for by its name, exhaustive or not."""
    config.stash[_left_out] = 0
    if sys.dont_write_bytecode:
        _let_children_keep_bytecode(config)
    if _is_by_name(config) and config.option.markexpr == "not exhaustive":
        config.option.markexpr = ""


def _let_children_keep_bytecode(config: pytest.Config) -> None:
    """Tests start hundreds of processes: where bytecode is not kept beside sources, they share a folder."""
    folder = tempfile.mkdtemp(prefix="kdissect-bytecode-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["PYTHONPYCACHEPREFIX"] = folder
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run tests that are asked for by name in this process, where `-s` and a debugger have the terminal."""
    return 0 if _is_by_name(config) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the short run leaves out of each matrix: all but every n-th case, counted from the last."""
    matrices = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            matrices[item.nodeid.partition("[")[0]].append(item)
    for cases in matrices.values():
        for index, item in enumerate(reversed(cases)):
            sampled = item.get_closest_marker("sampled")
            assert sampled is not None
            if index % sampled.args[0]:
                item.add_marker(pytest.mark.exhaustive)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what `-m 'not exhaustive'` leaves out; `-k` is asked for by the person, who knows."""
    config = items[0].config
    if config.option.markexpr == "not exhaustive" and not config.option.keyword:
        config.stash[_left_out] += sum(item.get_closest_marker("exhaustive") is not None for item in items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints what this one left out."""
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None:
        told[_LEFT_OUT] = session.config.stash[_left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker told; all workers collect the same tests."""
    left_out = getattr(node, "workeroutput", {}).get(_LEFT_OUT)  # a worker that crashed tells nothing
    if left_out:
        node.config.stash[_left_out] = left_out


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What did not run: a line for each reason."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())
    )
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        terminalreporter.write_line(f"{count} skipped: {' '.join(reason.split())}")
    if left_out := config.stash[_left_out]:
        terminalreporter.write_line(
            f"{left_out} exhaustive tests left out; `python -m pytest -m exhaustive` runs them"
        )
