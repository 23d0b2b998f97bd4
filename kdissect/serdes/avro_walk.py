"""Bytes of an Avro value, type after type, without making anything of them (AVRO Binary Encoding)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kdissect.serdes.bounds import MAX_DEPTH
from kdissect.serdes.faults import ValueFaultError

MAX_EMPTY_ITEMS = 100_000
FIXED_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_LONGEST_VARINT = 10  # bytes of 64 bits


class Walk:
    """Position in the bytes of a value, the types of which `named` has by their full names."""

    def __init__(self, data: bytes, named: Mapping[str, Any]) -> None:
        self._data = data
        self._named = named
        self._empty = 0
        self.at = 0

    def skip(self, schema: Any, depth: int) -> None:
        """Pass a value of a schema. Raises ValueFaultError for one that does not fit or is out of bounds."""
        if depth > MAX_DEPTH:
            raise ValueFaultError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(schema, list):
            self.skip(self.branch(schema), depth)
            return
        if isinstance(schema, str):
            self._skip_name(schema, depth)
            return
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            self.skip(kind, depth)
        elif kind in ("record", "error"):
            for field in schema["fields"]:
                self.skip(field["type"], depth + 1)
        elif kind == "fixed":
            self.over(int(schema["size"]))
        elif kind in ("array", "map"):
            items = schema["values" if kind == "map" else "items"]
            for _ in self.items(kind == "map"):
                self.skip(items, depth + 1)
        else:
            self._skip_name("int" if kind == "enum" else kind, depth)

    def _skip_name(self, name: str, depth: int) -> None:
        if name in self._named:
            self.skip(self._named[name], depth)
        elif name in FIXED_SIZES:
            self.over(FIXED_SIZES[name])
        elif name in ("bytes", "string"):
            self.over(self.long())
        else:
            self.long()

    def branch(self, union: list[Any]) -> Any:
        """Return the branch of a union that the bytes name."""
        branch = self.long()
        if not 0 <= branch < len(union):
            raise ValueFaultError("a union has no such branch")
        return union[branch]

    def items(self, is_map: bool) -> Iterator[None]:
        """Pass the blocks of an array or map, and the names of a map. The caller passes each item."""
        while (count := self.long()) != 0:
            if count < 0:
                self.long()  # the bytes of the block
                count = -count
            for _ in range(count):
                before = self.at
                if is_map:
                    self.over(self.long())
                yield
                self._empty += self.at == before
                if self._empty > MAX_EMPTY_ITEMS:
                    raise ValueFaultError(f"more than {MAX_EMPTY_ITEMS} items without bytes")

    def long(self) -> int:
        """Return the next number."""
        value = shift = 0
        for at in range(self.at, min(self.at + _LONGEST_VARINT, len(self._data))):
            byte = self._data[at]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at + 1
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise ValueFaultError("the value ends before its schema does")

    def over(self, size: int) -> None:
        """Pass so many bytes."""
        if not 0 <= size <= len(self._data) - self.at:
            raise ValueFaultError("the value ends before its schema does")
        self.at += size
