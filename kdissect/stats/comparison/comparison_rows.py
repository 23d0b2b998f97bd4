"""The differences between two captures as plain values, for JSON and tables (docs/diff.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdissect.stats.comparison.alignment import Pair, aligned
from kdissect.stats.comparison.differences import differences
from kdissect.stats.comparison.sides import BODY_SIZES, RESPONSE_TIME, Kind, Side, Step

Facts = dict[str, Any]


def comparison_facts(good: Side, bad: Side) -> Facts:
    """Return both captures, their differences, most telling first, and what each API took, side by side."""
    pairs = aligned(good.clients, bad.clients)
    rows = [{"rank": rank} | found.facts() for rank, found in enumerate(differences(good, bad, pairs), 1)]
    return {"good": _side(good), "bad": _side(bad), "differences": rows, "steps": list(_steps(pairs))}


def _side(side: Side) -> Facts:
    return {
        "exchanges": side.exchanges,
        "clients": len(side.clients),
        "connections": sum(client.connections for client in side.clients.values()),
        "duration_ns": side.duration_ns,
    }


def _steps(pairs: Iterable[Pair]) -> Iterable[Facts]:
    """Yield a row for each API of each client."""
    for one, other in pairs:
        here, there = {} if one is None else one.steps, {} if other is None else other.steps
        for api in dict.fromkeys((*here, *there)):
            yield {
                "good_client": None if one is None else one.name,
                "bad_client": None if other is None else other.name,
                "api": api,
                "good": _step(here.get(api)),
                "bad": _step(there.get(api)),
            }


def _step(step: Step | None) -> Facts | None:
    if step is None:
        return None
    times = step.numbers.get((Kind.TIME, RESPONSE_TIME))
    sizes = [step.numbers.get((Kind.SIZE, what)) for what in BODY_SIZES]
    return {
        "exchanges": step.count,
        "errors": step.errors,
        "p50_ns": None if times is None else times.quantile(0.5),
        "p99_ns": None if times is None else times.quantile(0.99),
        "bytes": sum(size.sum for size in sizes if size is not None),
    }
