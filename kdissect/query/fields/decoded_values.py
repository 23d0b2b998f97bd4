"""Values that only the bytes show to be there: what a payload, or a key or value of a record, holds.

Names and kinds in them cannot be checked beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.value_kinds import Test, ValueKind


class Decoded(ValueKind):
    """Values of any kind, compared by how they are written."""

    name = "any"
    doc = "what a payload holds: compared by how it is written"
    example = "orders"
    textual = True

    def parse(self, literal: Literal) -> str:
        """Return the text."""
        return literal.text

    def text(self, raw: Any) -> str:
        """As JSON writes it, texts without quotes."""
        return str(raw).lower() if isinstance(raw, bool) else str(raw)

    def equals(self, value: str) -> Test:
        """Equal as text."""
        return lambda raw: self.text(raw) == value

    def one_of(self, values: Sequence[str]) -> Test:
        """Return one of them as text."""
        known = frozenset(values)
        return lambda raw: self.text(raw) in known


DECODED = Decoded()


def values_at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path of a value for JSON, or in each item of a list. Structs are True."""
    if isinstance(value, list):
        for item in value:
            yield from values_at(item, path)
    elif not path:
        yield True if isinstance(value, dict) else value
    elif isinstance(value, dict) and path[0] in value:
        yield from values_at(value[path[0]], path[1:])
