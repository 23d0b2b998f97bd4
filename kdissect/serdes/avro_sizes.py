"""Bounds for values of Avro in which a few bytes could mean a large or deep value.

A schema that refers to itself makes values as deep as they have bytes, and items of no bytes make arrays of
any length. Values of such schemas are walked first, without making anything of them.
"""

from __future__ import annotations

from typing import Any

from kdissect.serdes.bounds import MAX_DEPTH
from kdissect.serdes.faults import ValueFaultError

MAX_EMPTY_ITEMS = 100_000
_FIXED_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_LONGEST_VARINT = 10  # bytes of 64 bits
_PLAIN_TYPES = ("null", "boolean", "int", "long", "string", "enum", "array", "map", "record", "error")


class Sizes:
    """Sizes of values by a schema of fastavro.

    `need_check`: values must pass `check` before they are decoded. `is_plain`: what fastavro makes is JSON
    already. Raises RecursionError where the schema itself is too deep.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._named: dict[str, Any] = {}
        self._least: dict[str, int] = {}
        self.need_check = False
        self.is_plain = True
        self._data = b""
        self._at = 0
        self._empty = 0
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
            self._named[schema["name"]] = schema
            self._least[schema["name"]] = least
            return least
        if kind in ("array", "map"):
            items = self._look(schema["items" if kind == "array" else "values"], inside, depth + 1)
            self.need_check |= kind == "array" and items == 0
            return 1
        return self._look_name(kind, inside)

    def _look_record(self, schema: Any, inside: tuple[str, ...], depth: int) -> int:
        name = schema["name"]
        self._named[name] = schema
        found = sum(self._look(field["type"], (*inside, name), depth + 1) for field in schema["fields"])
        self._least[name] = found
        return found

    def _look_name(self, name: str, inside: tuple[str, ...]) -> int:
        if name in inside:
            self.need_check = True
            return 0
        if name in self._named:
            return self._least[name]
        self.is_plain &= name in _PLAIN_TYPES
        return _FIXED_SIZES.get(name, 1)

    def check(self, data: bytes) -> None:
        """Raise ValueFaultError for a value that does not fit, is too deep, or has too many empty items."""
        self._data, self._at, self._empty = data, 0, 0
        self._skip(self._schema, 0)

    def _skip(self, schema: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueFaultError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(schema, list):
            branch = self._long()
            if not 0 <= branch < len(schema):
                raise ValueFaultError("a union has no such branch")
            self._skip(schema[branch], depth)
            return
        if isinstance(schema, str):
            self._skip_name(schema, depth)
            return
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            self._skip(kind, depth)
        elif kind in ("record", "error"):
            for field in schema["fields"]:
                self._skip(field["type"], depth + 1)
        elif kind == "fixed":
            self._over(int(schema["size"]))
        elif kind in ("array", "map"):
            self._skip_blocks(schema, kind == "map", depth)
        else:
            self._skip_name("int" if kind == "enum" else kind, depth)

    def _skip_name(self, name: str, depth: int) -> None:
        if name in self._named:
            self._skip(self._named[name], depth)
        elif name in _FIXED_SIZES:
            self._over(_FIXED_SIZES[name])
        elif name in ("bytes", "string"):
            self._over(self._long())
        else:
            self._long()

    def _skip_blocks(self, schema: Any, is_map: bool, depth: int) -> None:
        items = schema["values" if is_map else "items"]
        while (count := self._long()) != 0:
            if count < 0:
                self._long()  # the bytes of the block
                count = -count
            for _ in range(count):
                before = self._at
                if is_map:
                    self._over(self._long())
                self._skip(items, depth + 1)
                self._empty += self._at == before
                if self._empty > MAX_EMPTY_ITEMS:
                    raise ValueFaultError(f"more than {MAX_EMPTY_ITEMS} items without bytes")

    def _long(self) -> int:
        value = shift = 0
        for at in range(self._at, min(self._at + _LONGEST_VARINT, len(self._data))):
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self._at = at + 1
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise ValueFaultError("the value ends before its schema does")

    def _over(self, size: int) -> None:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueFaultError("the value ends before its schema does")
        self._at += size
