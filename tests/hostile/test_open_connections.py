"""What an open connection costs, counted in bytes: of Python's own heap, for each of some thousands.

docs/limits.md has the figures of whole commands.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterable

import pytest

from benchmarks import hostile_load
from kdissect.engine.analyzer import Analyzer
from kdissect.model.native import native
from kdissect.rules import recent_exchanges
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.session.events import Event

SOME, MORE = 1000, 4000


def held_of_each(load: Callable[[int], Iterable[bytes]], take: Callable[[Event], object]) -> float:
    """Bytes that one more connection of a load takes while it is open."""

    def held(count: int) -> int:
        analyzer = Analyzer()
        gc.collect()
        tracemalloc.start()
        for number, data in enumerate(load(count), 1):
            time_ns = hostile_load.START_NS + number * 20_000
            for event in analyzer.feed_batch([(number, time_ns, 1, data, len(data))]):
                take(event)
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert analyzer._count == count
        return size

    return (held(MORE) - held(SOME)) / (MORE - SOME)


def ignored(_event: Event) -> None:
    """Nothing is kept of events."""


def test_an_open_connection_with_exchanges() -> None:
    # 2,500 bytes compiled, 4,900 in Python, which has two deques of 760; 6,700 and 8,400 before.
    assert held_of_each(hostile_load.connections, ignored) < (3000 if native is not None else 5400)


def test_an_open_connection_that_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that spoke last more is kept, of a few thousand: here of a few, all others are at rest."""
    monkeypatch.setattr(recent_exchanges, "CONNECTIONS_KEPT", 50)
    # Each of these connections begins without ApiVersions: a finding, and those have a bound of their own.
    judges = [Judge([rule for rule in ALL_RULES if rule.code != "VER003"]) for _ in "ab"]
    taken = iter(judges)

    def load(count: int) -> Iterable[bytes]:
        nonlocal judge
        judge = next(taken)
        return hostile_load.connections(count)

    judge = judges[0]
    # 12,000 before.
    assert held_of_each(load, lambda event: judge.add(event)) < (4600 if native is not None else 6700)


def test_a_syn() -> None:
    # A key, a flow and a packed segment: 250 bytes; 4,150 before.
    assert held_of_each(hostile_load.syn_flood, ignored) < 400
