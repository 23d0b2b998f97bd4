"""Results by the identity of their inputs: for shared objects that do not change."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_KEPT = 256
R = TypeVar("R")


def of_same(make: Callable[[Any], R]) -> Callable[[Any], R]:
    """Cache the result of `make` for its last arguments, by identity.

    It keeps the objects alive, at most 256: no other can have their place in memory.
    """
    kept: dict[int, tuple[object, R]] = {}

    @wraps(make)
    def of(value: Any) -> R:
        known = kept.get(id(value))
        if known is not None:
            return known[1]
        if len(kept) >= _KEPT:
            kept.clear()
        made = make(value)
        kept[id(value)] = value, made
        return made

    return of
