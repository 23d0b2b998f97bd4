"""Whether a reader can read a value of Avro that was written with another schema (AVRO Schema Resolution).

Only what the value contains counts: branches of unions, symbols and items that it does not have are not
resolved. fastavro resolves more than the specification: a fixed, for example, to an enum of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kdissect.model.wording import plural
from kdissect.serdes.avro_walk import Walk
from kdissect.serdes.bounds import MAX_DEPTH
from kdissect.serdes.faults import ValueFaultError

_NAMED = ("record", "enum", "fixed")
# AVRO Schema Resolution: "the writer's schema may be promoted to the reader's".
_PROMOTED = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_MAX_STEPS = 100_000  # types of one value, counted again for each branch that is tried


class _OpenError(Exception):
    """The value has more types than are compared."""


def unreadable(data: bytes, writer: Any, reader: Any) -> str:
    """Return why a reader with a schema of fastavro cannot read a value of the writer's; empty if it can, or
    if the value is out of bounds or does not fit the writer's schema.
    """
    try:
        named, wanted = dict(_named(writer, 0)), dict(_named(reader, 0))
        return _Resolution(data, named, wanted).read(writer, reader, 0)
    except (ValueFaultError, _OpenError, RecursionError):
        return ""


class _Resolution(Walk):
    def __init__(self, data: bytes, named: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        super().__init__(data, named)
        self._wanted = wanted
        self._steps = 0

    def read(self, writer: Any, reader: Any, depth: int) -> str:
        """Pass a value; return why it cannot be read."""
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > _MAX_STEPS:
            raise _OpenError
        writer, reader = _type(writer, self._named), _type(reader, self._wanted)
        if isinstance(writer, list):
            return self.read(self.branch(writer), reader, depth + 1)
        if isinstance(reader, list):
            return self._read_branch(writer, reader, depth)
        if not _match(writer, reader):
            return f"{_text(writer)} is no {_text(reader)}"
        kind = _kind(writer)
        if kind == "record":
            return self._read_record(writer, reader, depth)
        if kind == "enum":
            return self._read_symbol(writer, reader)
        if kind in ("array", "map"):
            part = "values" if kind == "map" else "items"
            for _ in self.items(kind == "map"):
                why = self.read(writer[part], reader[part], depth + 1)
                if why:
                    return why
            return ""
        self.skip(writer, depth)
        return ""

    def _read_branch(self, writer: Any, reader: list[Any], depth: int) -> str:
        """Try each branch that matches: the specification takes the first one, and implementations the one
        with the same full name.
        """
        start, reason = self.at, ""
        for branch in reader:
            self.at = start
            wanted = _type(branch, self._wanted)
            if not isinstance(wanted, list) and _match(writer, wanted):
                why = self.read(writer, wanted, depth + 1)
                if not why:
                    return ""
                reason = reason or why
        return reason or f"the reader's union has no branch for {_text(writer)}"

    def _read_record(self, writer: Any, reader: Any, depth: int) -> str:
        given = {field["name"]: field for field in reader["fields"]}
        fields = [(field, _of_reader(field["name"], given)) for field in writer["fields"]]
        found = [wanted["name"] for _, wanted in fields if wanted is not None]
        for name, field in given.items():
            if "default" not in field and name not in found:
                return f"field {name!r} is missing, and has no default"
        for field, wanted in fields:
            if wanted is None:
                self.skip(field["type"], depth + 1)
                continue
            why = self.read(field["type"], wanted["type"], depth + 1)
            if why:
                return f"field {field['name']!r}: {why}"
        return ""

    def _read_symbol(self, writer: Any, reader: Any) -> str:
        number, symbols = self.long(), writer["symbols"]
        if not 0 <= number < len(symbols):
            raise ValueFaultError("an enumeration has no such symbol")
        if symbols[number] in reader["symbols"] or "default" in reader:
            return ""
        return f"the reader's {_text(reader)} has no symbol {symbols[number]!r}, and no default"


def _named(schema: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the types that have names, and the names."""
    if depth > 2 * MAX_DEPTH:
        raise RecursionError
    for inner in schema if isinstance(schema, list) else ():
        yield from _named(inner, depth + 1)
    if isinstance(schema, dict):
        if _kind(schema) in _NAMED:
            yield schema["name"], schema
        parts = (schema.get(name) for name in ("type", "items", "values"))
        for inner in (*parts, *(field["type"] for field in schema.get("fields", ()))):
            if isinstance(inner, (dict, list)):
                yield from _named(inner, depth + 1)


def _type(schema: Any, named: Mapping[str, Any]) -> Any:
    """Return a type, by its name or inside of `type`."""
    while True:
        if isinstance(schema, str) and schema in named:
            schema = named[schema]
        elif isinstance(schema, dict) and isinstance(schema["type"], (dict, list)):
            schema = schema["type"]
        else:
            return schema


def _kind(schema: Any) -> str:
    kind = schema if isinstance(schema, str) else schema["type"]
    return "record" if kind == "error" else str(kind)


def _match(writer: Any, reader: Any) -> bool:
    """Return whether two types match. Types inside of them are compared where the value has them."""
    kind, wanted = _kind(writer), _kind(reader)
    if kind != wanted:
        return wanted in _PROMOTED.get(kind, ())
    if kind not in _NAMED:
        return True
    is_same = _simple(writer["name"]) == _simple(reader["name"]) or writer["name"] in _aliases(reader)
    return is_same and (kind != "fixed" or writer["size"] == reader["size"])


def _aliases(reader: Any) -> Iterator[str]:
    """Yield the full names: those without a namespace have that of the type (AVRO Aliases). Implementations
    take them as they are.
    """
    before, dot, _ = reader["name"].rpartition(".")
    for name in reader.get("aliases", ()):
        yield from (name, name if "." in name else f"{before}{dot}{name}")


def _of_reader(name: str, given: Mapping[str, Any]) -> Any:
    """Return the reader's field of a name or alias, or None."""
    aliased = (field for field in given.values() if name in field.get("aliases", ()))
    return given[name] if name in given else next(aliased, None)


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def _text(schema: Any) -> str:
    kind = _kind(schema)
    size = f" of {plural(schema['size'], 'byte')}" if kind == "fixed" else ""
    return f"{kind} {schema['name']!r}{size}" if kind in _NAMED else kind
