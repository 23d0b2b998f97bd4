"""Runs tests on the native engine and on the Python engine, each in worker processes of its own.

The engine of a process is chosen when kdissect is imported (`KDISSECT_NATIVE`), so a test cannot switch it.
`tests/conftest.py` starts workers for both engines and parametrises the fixture `engine` with the engine of
the worker.
"""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kdissect.model.native import is_compiled

NATIVE, PYTHON = "native", "python"
THIS_ENGINE = NATIVE if is_compiled else PYTHON

# Folders and files whose tests run on both engines. Other tests run once, on the native engine if there is
# one: they test the schema, the screen or tools, or they compare the engines themselves (tests/native).
BOTH = (
    "benchmarks/test_multiply.py",
    "benchmarks/test_multiply_log.py",
    "capture",
    "causes",
    "cli/findings",
    "cli/log_segments",
    "cli/statistics",
    "conformance",
    "corpus",
    "decoders",
    "engine",
    "excerpt",
    "golden",
    "history",
    "net",
    "query",
    "rules",
    "session",
    "stages",
    "stats",
    "tls",
)

# In the environment of a worker that runs the tests of both engines only: another worker runs all tests.
_SECOND = "KDISSECT_SECOND_ENGINE"


@cache  # pytest asks of every test function
def runs_on_both(path: Path, tests: Path) -> bool:
    """Return True if the tests of a file run on both engines."""
    return any(path.is_relative_to(tests / folder) for folder in BOTH)


def leads_to_both(path: Path, tests: Path) -> bool:
    """Return True if a file or folder has, or lies above, tests that run on both engines."""
    folders = [tests / folder for folder in BOTH]
    return any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in folders)


def is_second() -> bool:
    """Return True in a worker that runs only the tests of both engines."""
    return bool(os.environ.get(_SECOND))


def with_both_engines(specifications: Iterable[str]) -> list[str]:
    """Return the specifications of xdist's workers for both engines."""
    native = list(specifications)
    # Half as many: each worker collects all tests of its engine first, and these have less to do.
    half = native[: max(1, len(native) // 2)]
    python = [f"{each}//env:KDISSECT_NATIVE=0//env:{_SECOND}=1" for each in half]
    return [*native, *python] if is_compiled else native


def has_second(specifications: Iterable[str]) -> bool:
    """Return True if some of xdist's workers run the tests of both engines only."""
    return any(_SECOND in each for each in specifications)


def engine_of(node: Any) -> str:
    """Return the engine of a worker of xdist."""
    return PYTHON if _SECOND in node.gateway.spec.env else THIS_ENGINE


class SchedulingByEngine:
    """A scheduler for workers of several engines: one of xdist's schedulers for each engine.

    xdist's own schedulers require that all workers collect the same tests.
    """

    def __init__(self, session: Any, parts: dict[str, Any]) -> None:
        self._session = session
        self._parts = parts

    @property
    def nodes(self) -> list[Any]:
        """All workers."""
        return [node for part in self._parts.values() for node in part.nodes]

    @property
    def collection_is_completed(self) -> bool:
        """Whether every worker has reported its tests."""
        return all(part.collection_is_completed for part in self._parts.values())

    @property
    def tests_finished(self) -> bool:
        """Whether no test is left for any worker."""
        return all(part.tests_finished for part in self._parts.values())

    @property
    def has_pending(self) -> bool:
        """Whether a test is left for some worker."""
        return any(part.has_pending for part in self._parts.values())

    def add_node(self, node: Any) -> None:
        """Add a worker."""
        self._part(node).add_node(node)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Record the tests that a worker collected."""
        self._part(node).add_node_collection(node, collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Record that a worker finished a test."""
        self._part(node).mark_test_complete(node, item_index, duration)

    def mark_test_pending(self, item: str) -> None:
        """Schedule a test again."""
        part = next(part for part in self._parts.values() if item in (part.collection or ()))
        part.mark_test_pending(item)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Take back tests that a worker has not started."""
        self._part(node).remove_pending_tests_from_node(node, indices)

    def remove_node(self, node: Any) -> str | None:
        """Remove a worker; return the test that it ran if it crashed."""
        crashed: str | None = self._part(node).remove_node(node)
        return crashed

    def schedule(self) -> None:
        """Give tests to the workers."""
        # xdist counts the tests of the worker that reported last, which shows a wrong progress and may be 0.
        self._session.testscollected = sum(
            len(next(iter(part.node2collection.values()), ())) for part in self._parts.values()
        )
        for part in self._parts.values():
            part.schedule()

    def _part(self, node: Any) -> Any:
        return self._parts[engine_of(node)]


def scheduling_by_engine(session: Any, make: Any, specifications: Sequence[str]) -> SchedulingByEngine | None:
    """Return the scheduler of all workers, or None if they all have one engine.

    `make` returns a scheduler of xdist, which expects the number of all workers.
    """
    if not has_second(specifications):
        return None
    second = sum(_SECOND in each for each in specifications)
    parts = {THIS_ENGINE: make(), PYTHON: make()}
    parts[PYTHON].numnodes = second
    parts[THIS_ENGINE].numnodes = len(specifications) - second
    return SchedulingByEngine(session, parts)
