"""Schemas of Avro in one piece: a definition from another schema is inserted where its name appears first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kdissect.serdes.bounds import MAX_DEPTH

_NAMED = ("record", "error", "enum", "fixed")
_INNER = {"record": "fields", "error": "fields", "array": "items", "map": "values"}


def whole_schema(text: str, references: Mapping[str, str], change: Callable[[Any], Any]) -> Any:
    """Return the schema with the definitions of names that it refers to, each changed by `change` first.

    Raises ValueError for what is no JSON, RecursionError for a schema that is too deep.
    """
    given = {name: change(loaded(one)) for name, one in references.items()}
    known = {_full_name(one, ""): one for one in given.values() if isinstance(one, dict)} | given
    return _Whole(known).of(change(loaded(text)), "", 0)


def loaded(text: str) -> Any:
    """Return the JSON of a schema. The name of a primitive type may be without quotes."""
    return json.loads(text) if text.lstrip()[:1] in ("{", "[", '"') else text.strip()


class _Whole:
    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._defined: set[str] = set()

    def of(self, schema: Any, namespace: str, depth: int) -> Any:
        """Return a schema inside another schema."""
        if depth > 2 * MAX_DEPTH:
            raise RecursionError
        if isinstance(schema, list):
            return [self.of(branch, namespace, depth + 1) for branch in schema]
        if isinstance(schema, str):
            return self._of_name(schema, namespace, depth)
        return self._of_struct(schema, namespace, depth) if isinstance(schema, dict) else schema

    def _of_name(self, name: str, namespace: str, depth: int) -> Any:
        full = f"{namespace}.{name}" if namespace and "." not in name else name
        found = self._given.get(full, self._given.get(name))
        return name if found is None or full in self._defined else self.of(found, namespace, depth + 1)

    def _of_struct(self, schema: dict[str, Any], namespace: str, depth: int) -> dict[str, Any]:
        kind = schema.get("type")
        if not isinstance(kind, str):
            return {**schema, "type": self.of(kind, namespace, depth + 1)}
        if kind in _NAMED:
            full = _full_name(schema, namespace)
            self._defined.add(full)
            namespace = full.rpartition(".")[0]
        inner = _INNER.get(kind)
        if inner is None:
            return schema if kind in _NAMED else {**schema, "type": self.of(kind, namespace, depth + 1)}
        found = schema.get(inner)
        if inner == "fields" and isinstance(found, list):
            fields = [
                {**field, "type": self.of(field.get("type"), namespace, depth + 1)}
                if isinstance(field, dict)
                else field
                for field in found
            ]
            return {**schema, inner: fields}
        return {**schema, inner: self.of(found, namespace, depth + 1)}


def _full_name(schema: dict[str, Any], namespace: str) -> str:
    name, own = str(schema.get("name", "")), schema.get("namespace", namespace)
    return f"{own}.{name}" if own and "." not in name else name
