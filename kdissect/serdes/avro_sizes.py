"""Bounds for values of Avro in which a few bytes could mean a large or deep value.

A schema that refers to itself makes values as deep as they have bytes, and items of no bytes make arrays of
any length. Values of such schemas are walked first, without making anything of them.
"""

from __future__ import annotations

from typing import Any

from kdissect.serdes.avro_walk import FIXED_SIZES, Walk
from kdissect.serdes.bounds import MAX_DEPTH

_PLAIN_TYPES = ("null", "boolean", "int", "long", "string", "enum", "array", "map", "record", "error")


class Sizes:
    """Sizes of values by a schema of fastavro.

    `need_check`: values must pass `check` before they are decoded. `is_plain`: what fastavro makes is JSON
    already. Raises RecursionError where the schema itself is too deep.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self.named: dict[str, Any] = {}
        """The schema's named types."""
        self._least: dict[str, int] = {}
        self.need_check = False
        self.is_plain = True
        self._look(schema, (), 0)

    def _look(self, schema: Any, inside: tuple[str, ...], depth: int) -> int:
        """Return the least bytes of a value, and note the schema's types."""
        if depth > MAX_DEPTH:
            raise RecursionError
        if isinstance(schema, list):
            return 1 + min((self._look(branch, inside, depth + 1) for branch in schema), default=0)
        if isinstance(schema, str):
            return self._look_name(schema, inside)
        kind = schema["type"]
        self.is_plain &= "logicalType" not in schema
        if isinstance(kind, (dict, list)):
            return self._look(kind, inside, depth + 1)
        if kind in ("record", "error"):
            return self._look_record(schema, inside, depth)
        if kind in ("enum", "fixed"):
            self.is_plain &= kind == "enum"
            least = 1 if kind == "enum" else int(schema["size"])
            self.named[schema["name"]] = schema
            self._least[schema["name"]] = least
            return least
        if kind in ("array", "map"):
            items = self._look(schema["items" if kind == "array" else "values"], inside, depth + 1)
            self.need_check |= kind == "array" and items == 0
            return 1
        return self._look_name(kind, inside)

    def _look_record(self, schema: Any, inside: tuple[str, ...], depth: int) -> int:
        name = schema["name"]
        self.named[name] = schema
        found = sum(self._look(field["type"], (*inside, name), depth + 1) for field in schema["fields"])
        self._least[name] = found
        return found

    def _look_name(self, name: str, inside: tuple[str, ...]) -> int:
        if name in inside:
            self.need_check = True
            return 0
        if name in self.named:
            return self._least[name]
        self.is_plain &= name in _PLAIN_TYPES
        return FIXED_SIZES.get(name, 1)

    def check(self, data: bytes) -> None:
        """Raise ValueFaultError for a value that does not fit, is too deep, or has too many empty items."""
        Walk(data, self.named).skip(self._schema, 0)
