"""Schemas of Avro as the native engine reads them: a list of types that refer to each other by number.

A schema with a type that the native engine does not know has no program: Python reads its values.
"""

from __future__ import annotations

from typing import Any

Node = tuple[str, list[int], list[str]]
"""Name of a type, numbers (of other nodes, sizes), names (of fields, symbols): `Node` in
native/src/records/avro.rs.
"""

_PRIMITIVE = {
    "null": "null", "boolean": "boolean", "int": "long", "long": "long", "float": "float", "double": "double",
    "bytes": "bytes", "string": "string",
}  # fmt: skip
# By type and logical type, those that fastavro reads; it ignores others.
_LOGICAL: dict[tuple[str, str | None], str] = {
    ("int", "date"): "date",
    ("int", "time-millis"): "time-millis",
    ("long", "time-micros"): "time-micros",
    ("long", "timestamp-millis"): "timestamp-millis",
    ("long", "timestamp-micros"): "timestamp-micros",
    ("long", "local-timestamp-millis"): "local-timestamp-millis",
    ("long", "local-timestamp-micros"): "local-timestamp-micros",
    ("string", "uuid"): "uuid",
    ("bytes", "decimal"): "decimal",
    ("fixed", "decimal"): "decimal",
}
_MAX_NODES = 20_000
_MAX_NUMBER = 1 << 31


class _UnknownError(Exception):
    """A type that the native engine does not know."""


def avro_program(schema: Any) -> list[Node] | None:
    """Return the nodes of a schema of fastavro, the schema's own first; None if Python reads its values."""
    program = _Program()
    try:
        program.add(schema)
    except (_UnknownError, RecursionError, KeyError, TypeError, ValueError):
        return None
    return program.nodes


class _Program:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._named: dict[str, int] = {}

    def add(self, schema: Any) -> int:
        """Add a schema and return its number."""
        if isinstance(schema, str) and schema in self._named:
            return self._named[schema]
        number = len(self.nodes)
        if number >= _MAX_NODES:
            raise _UnknownError
        self.nodes.append(("null", [], []))
        self.nodes[number] = self._node(schema, number)
        return number

    def _node(self, schema: Any, number: int) -> Node:
        if isinstance(schema, list):
            return "union", [self.add(branch) for branch in schema], []
        kind = schema if isinstance(schema, str) else schema["type"]
        logical = None if isinstance(schema, str) else schema.get("logicalType")
        if kind in ("record", "error", "enum", "fixed"):
            self._named[schema["name"]] = number
        name = _LOGICAL.get((kind, logical), _PRIMITIVE.get(kind))
        if name == "decimal":
            return name, _decimal(schema, kind), []
        return self._struct(kind, schema) if name is None else (name, [], [])

    def _struct(self, kind: str, schema: Any) -> Node:
        if kind in ("record", "error"):
            fields = schema["fields"]
            names = [field["name"] for field in fields]
            if len(set(names)) < len(names):
                raise _UnknownError
            return "record", [self.add(field["type"]) for field in fields], names
        if kind == "enum":
            return kind, [], list(schema["symbols"])
        if kind == "fixed":
            return kind, [_size(schema["size"])], []
        inner = {"array": "items", "map": "values"}.get(kind)
        if inner is None:
            raise _UnknownError
        return kind, [self.add(schema[inner])], []


def _decimal(schema: Any, kind: str) -> list[int]:
    """Return precision and scale, and the size of a fixed."""
    numbers = [_size(schema["precision"]), _size(schema.get("scale", 0))]
    return numbers if kind == "bytes" else [*numbers, _size(schema["size"])]


def _size(number: Any) -> int:
    if type(number) is not int or not 0 <= number < _MAX_NUMBER:
        raise _UnknownError
    return number
