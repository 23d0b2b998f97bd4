"""Schema resolution of Avro, rule by rule of the specification."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="needs the extra schemas")

import fastavro

from kdissect.serdes.avro_resolution import unreadable


def record(*fields: Any, name: str = "R", **own: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **own}


def field(name: str, kind: Any, **own: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **own}


def enum(*symbols: str, name: str = "E", **own: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **own}


def fixed(size: int, name: str = "F", **own: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **own}


def why(writer: Any, reader: Any, value: Any) -> str:
    """Return why a reader cannot read a value."""
    writer, reader = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
    out = BytesIO()
    fastavro.schemaless_writer(out, writer, value)
    return unreadable(out.getvalue(), writer, reader)


A, B = field("a", "int"), field("b", "string")
NODE = record(field("next", ["null", "R"]), field("v", "int"))
READABLE = [
    *(("int", kind, 1) for kind in ("int", "long", "float", "double")),
    *(("long", kind, 1) for kind in ("float", "double")),
    ("float", "double", 1.0),
    ("string", "bytes", "a"),
    ("bytes", "string", b"a"),
    (record(A, B), record(A), {"a": 1, "b": "x"}),
    (record(A, B), record(field("b", "bytes"), field("a", "double")), {"a": 1, "b": "x"}),
    (record(A), record(A, B | {"default": ""}), {"a": 1}),
    (record(A), record(field("c", "long", aliases=["a"])), {"a": 1}),
    (record(A, name="x.R"), record(A, name="y.R"), {"a": 1}),
    (record(A, name="x.R"), record(A, name="x.S", aliases=["R"]), {"a": 1}),
    (record(A, name="R"), record(A, name="x.S", aliases=["R"]), {"a": 1}),
    (enum("X", "Y"), enum("Y"), "Y"),
    (enum("X", "Y"), enum("Y", default="Y"), "X"),
    (fixed(2), fixed(2, name="n.F"), b"ab"),
    ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, []),
    ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, {"k": 1}),
    (["null", "int"], "int", 1),
    (["null", "int"], ["string", "long"], 1),
    ("int", ["null", "double"], 1),
    (record(A, name="x.R"), ["null", record(B, name="y.R"), record(A, name="z.R")], {"a": 1}),
    (NODE, NODE, {"next": {"next": None, "v": 1}, "v": 2}),
]
UNREADABLE = [
    ("long", "int", 1, "long is no int"),
    ("double", "float", 1.0, "double is no float"),
    ("boolean", "int", True, "boolean is no int"),
    (record(A), record(A, B), {"a": 1}, "field 'b' is missing, and has no default"),
    (record(A), record(field("a", "string")), {"a": 1}, "field 'a': int is no string"),
    (record(A), record(A, name="S"), {"a": 1}, "record 'R' is no record 'S'"),
    (record(A, name="x.R"), record(A, name="x.S", aliases=["y.R"]), {"a": 1}, "record 'x.R' is no"),
    (enum("X", "Y"), enum("Y"), "X", "the reader's enum 'E' has no symbol 'X', and no default"),
    (fixed(2), fixed(3), b"ab", "fixed 'F' of 2 bytes is no fixed 'F' of 3 bytes"),
    (fixed(1), enum("X", name="F"), b"a", "fixed 'F' of 1 byte is no enum 'F'"),
    ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, [1], "int is no string"),
    ({"type": "array", "items": "int"}, {"type": "map", "values": "int"}, [1], "array is no map"),
    (["null", "int"], "int", None, "null is no int"),
    ("string", ["null", "int"], "a", "the reader's union has no branch for string"),
    (["null", record(A)], ["null", record(A, B)], {"a": 1}, "field 'b' is missing"),
    (NODE, record(field("next", ["null", "R"]), field("v", "string")),
     {"next": {"next": None, "v": 1}, "v": 2}, "field 'next': field 'v': int is no string"),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader", "value"), READABLE)
def test_readable(writer: Any, reader: Any, value: Any) -> None:
    assert why(writer, reader, value) == ""


@pytest.mark.parametrize(("writer", "reader", "value", "reason"), UNREADABLE)
def test_unreadable(writer: Any, reader: Any, value: Any, reason: str) -> None:
    assert why(writer, reader, value).startswith(reason)


def test_nothing_is_said_of_values_that_do_not_fit_or_are_too_deep() -> None:
    writer, reader = fastavro.parse_schema(record(A, B)), fastavro.parse_schema(record(field("a", "int")))
    assert unreadable(b"\2\4a", writer, reader) == ""
    deep = record(field("next", ["null", "R"]), field("v", "int"))
    other = record(field("next", ["null", "R"]), field("v", "string"))
    parsed = fastavro.parse_schema(deep), fastavro.parse_schema(other)
    assert unreadable(b"\2" * 5000, *parsed) == ""


def test_branches_that_double_the_work_at_each_level_are_bounded() -> None:
    """Each branch fails at its end, and contains both."""
    both = ["null", "x.R", "y.R"]
    tried = [record(field("n", both), field("v", "string"), name=f"{space}.R") for space in "xy"]
    tried[0]["fields"][0]["type"] = ["null", "x.R", tried[1]]
    writer = fastavro.parse_schema(record(field("n", ["null", "R"]), field("v", "int")))
    reader = fastavro.parse_schema(["null", tried[0]])
    value = b"\2" * 60 + b"\0" + b"\2" * 61
    assert unreadable(value, writer, reader) == ""
    assert "int is no string" in unreadable(value[60 - 4 : 60 + 6], writer, reader)
