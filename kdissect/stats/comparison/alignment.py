"""Pairs of equal clients in two captures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kdissect.stats.comparison.sides import ClientSide

Pair = tuple[ClientSide | None, ClientSide | None]
# Clients without a name in common are equal if this share of their activity is: the APIs that both use,
# divided by the APIs that either uses.
_ALIKE = 0.5
_NUMBERS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")


def aligned(good: Mapping[str, ClientSide], bad: Mapping[str, ClientSide]) -> list[Pair]:
    """Return the clients of both, clients of `good` first.

    Clients with equal client ids are equal. Then clients whose ids differ only in numbers and UUIDs. Then
    clients that use the same APIs, the most similar first. Other clients have no partner.
    """
    left, right = dict(good), dict(bad)
    found: dict[str, ClientSide] = {}

    def take(pairs: Iterable[tuple[str, str]]) -> None:
        for one, other in pairs:
            if one in left and other in right:
                del left[one]
                found[one] = right.pop(other)

    take((name, name) for name in good)
    of_shape: dict[str, list[str]] = {}
    for name in right:
        of_shape.setdefault(_shape(name), []).append(name)
    for name in list(left):
        others = of_shape.get(_shape(name))
        take([(name, others.pop(0))] if others else [])
    alike = sorted(
        (
            (_alike(one, other), -number, name, other_name)
            for number, (name, one) in enumerate(left.items())
            for other_name, other in right.items()
        ),
        reverse=True,
    )
    take((name, other) for share, _, name, other in alike if share >= _ALIKE)
    pairs: list[Pair] = [(side, found.get(name)) for name, side in good.items()]
    return [*pairs, *((None, side) for side in right.values())]


def _shape(name: str) -> str:
    return _NUMBERS.sub("#", name)


def _alike(one: ClientSide, other: ClientSide) -> float:
    every = one.steps.keys() | other.steps.keys()
    return len(one.steps.keys() & other.steps.keys()) / len(every) if every else 0.0
