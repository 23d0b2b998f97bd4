"""Values that never change under a key: the first one counts, and each other one is a fact."""

from enum import StrEnum
from typing import Any, TypeVar

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table

Key = TypeVar("Key", bound=tuple[Any, ...])


def differs_from_first(
    table: Table[Key, tuple[int, Evidence]],
    key: Key,
    value: int,
    kind: StrEnum,
    view: ExchangeView,
    at: tuple[str, str],
) -> list[Fact]:
    """Return a fact if the first value under a key was another one. `at` are the side and the path."""
    first, evidence = table.get(key) or table.put(key, (value, view.evidence))
    return [] if first == value else [Fact(kind, key, view.evidence, *at, first, value, evidence)]
