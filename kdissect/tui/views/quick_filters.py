"""Filters made from a row: by its cells, or for all exchanges that the row is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kdissect.query.syntax.filter_tokens import quote

Row = Mapping[str, Any]
Maker = Callable[[Row], str | None]
"""An expression of the filter language for a row, or None if it has no value."""


def text_is(field: str, name: str | None = None) -> Maker:
    """Return a maker of `field == "text"`, with the row's value `name`."""

    def make(row: Row) -> str | None:
        value = row.get(name or field)
        return None if not isinstance(value, str) or not value else f"{field} == {quote(value)}"

    return make


def one_of(field: str, values: Sequence[str]) -> str | None:
    """Return `field == "a"`, or `field in ("a", "b")`."""
    known = [quote(value) for value in dict.fromkeys(values) if value]
    if not known:
        return None
    return f"{field} == {known[0]}" if len(known) == 1 else f"{field} in ({', '.join(known)})"


def negated(expression: str) -> str:
    """Return the filter for the exchanges that an expression leaves out."""
    if " " in expression and not expression.startswith("("):
        return f"not ({expression})"
    return f"not {expression}"


def of_producer(row: Row) -> str | None:
    """Return the filter for batches with a producer id and requests that name it."""
    producer_id = row.get("producer_id")
    if not isinstance(producer_id, int):
        return None
    return f"(batch.producer_id == {producer_id} or producer_id == {producer_id})"
