"""Tests that a reader of rows can make by itself, before an exchange exists."""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.query import plan
from kdissect.query.fields.row_fields import row_fields
from kdissect.query.values.points_in_time import Moment

_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")


class Conjunct(NamedTuple):
    """`field op value`, by the full name of a field; every exchange that the filter takes passes.

    Null passes nothing. `value` is an int or a str, for `in` and `not in` a tuple of them; times are
    nanoseconds since 1970 UTC.
    """

    field: str
    op: str
    value: Any


def conjuncts(node: plan.Node) -> tuple[Conjunct, ...]:
    """What can be said of headers; empty if nothing can."""
    if isinstance(node, plan.AllOf):
        return tuple(found for item in node.items for found in conjuncts(item))
    if isinstance(node, plan.Comparison):
        found = _conjunct(node)
        return () if found is None else (found,)
    return ()


def _conjunct(node: plan.Comparison) -> Conjunct | None:
    entry = row_fields().get(node.source.name)
    symbol = node.operator.symbols[0]
    if entry is None or not entry.header or node.source.is_many or symbol not in _OPERATORS:
        return None
    (values,) = node.values
    plain = [_plain(value) for value in values or ()]
    if not plain or any(value is None for value in plain):
        return None
    return Conjunct(entry.header, symbol, tuple(plain) if symbol in ("in", "not in") else plain[0])


def _plain(value: Any) -> Any:
    """An int or str as a file has it; None for what only a run knows."""
    if isinstance(value, Moment):
        return None if value.since else value.ns
    return value if type(value) in (int, str) else None
