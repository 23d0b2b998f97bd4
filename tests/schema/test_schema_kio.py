"""Oracle (c), where kio is installed: its generated entities, one class for each body and version.

kio is generated from Apache's current definitions, so versions that Kafka 4.0 dropped are not in it. What is
compared is the order of fields, their types, tags, flexibility and what may be null; names and units are its
own (`throttle_time` as a duration).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pkgutil import resolve_name
from types import NoneType
from typing import Any, get_args, get_origin

import pytest

from kdissect.schema import protocol_messages
from kdissect.schema.types import Message
from tests.schema.schema_layout import Entry, Layout, differences, layout, wire

index = pytest.importorskip("kio.schema.index", reason="kio is not installed")

# kio's names for what it turns into Python types.
TYPES = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
CAN_BE_NULL = ("string", "bytes", "records", "[]", "struct")

# Differences with their reasons; the test fails when one of them is gone, too.
KNOWN: set[str] = set()


def entities() -> Iterator[type[Any]]:
    for versions in index.schema_name_map.values():
        for kinds in versions.values():
            for path in kinds.values():
                yield resolve_name(path)


def find(entity: type[Any]) -> Message | None:
    kind, name = entity.__type__.name, entity.__name__
    if kind == "request":
        return protocol_messages.request_message(int(entity.__api_key__))
    if kind == "response":
        return protocol_messages.response_message(int(entity.__api_key__))
    return protocol_messages.header_message(name) if kind == "header" else protocol_messages.payload(name)


def kio_layout(entity: type[Any]) -> Layout:
    entries = [kio_entry(field, entity.__flexible__) for field in dataclasses.fields(entity)]
    untagged = [entry for entry in entries if entry.tag is None]
    return (*untagged, *sorted((e for e in entries if e.tag is not None), key=lambda e: e.tag or 0))


def kio_entry(field: dataclasses.Field[Any], flexible: bool) -> Entry:
    hint, nullable = unwrap(field.type)
    is_array = get_origin(hint) is tuple
    element, _ = unwrap(get_args(hint)[0]) if is_array else (hint, False)
    is_struct = dataclasses.is_dataclass(element)
    written = field.metadata.get("kafka_type")
    assert is_struct or isinstance(written, str), field
    name = "[]" * is_array + ("struct" if is_struct else TYPES.get(str(written), str(written)))
    return Entry(
        name=field.name,
        type=name,
        # A zero uuid and a time of -1 are None in Python, not null on the wire.
        nullable=nullable and name.startswith(CAN_BE_NULL),
        tag=field.metadata.get("tag"),
        compact=flexible and name.startswith(("string", "bytes", "records", "[]")),
        default=None,
        fields=kio_layout(element) if is_struct else (),
    )


def unwrap(hint: Any) -> tuple[Any, bool]:
    """`X | None` -> X, True."""
    members = get_args(hint)
    if NoneType in members:
        (hint,) = (member for member in members if member is not NoneType)
        return hint, True
    return hint, False


def named(layout: Layout, names: Layout) -> Layout:
    """Return the wire of a layout with the names of another, for readable differences."""
    if len(layout) != len(names):
        return layout
    return tuple(
        entry._replace(name=other.name, default=None, fields=named(entry.fields, other.fields))
        for entry, other in zip(layout, names, strict=True)
    )


def test_every_entity_is_ours() -> None:
    found, bodies = set(), 0
    for entity in entities():
        message = find(entity)
        version = int(entity.__version__)
        assert message is not None
        assert version in message.versions, entity
        assert message.is_flexible(version) == entity.__flexible__, entity
        theirs = kio_layout(entity)
        if message.name == "RequestHeader":
            # The one string that stays plain; kio handles it in code, not in its entities.
            theirs = tuple(e._replace(compact=False) if e.name == "client_id" else e for e in theirs)
        ours = layout(message, version)
        if wire(ours) != wire(theirs):
            found |= {
                f"{message.name} v{version}{d}"
                for d in differences(named(ours, theirs), named(theirs, theirs))
            }
        bodies += 1
    assert found == KNOWN
    assert bodies > 600
