"""Oracle (b), always there: the definitions inside kafka-python 3.0.12, written and used by others.

The package holds two independent sets: message definitions in Apache's form (490 message versions), which its
new protocol layer is driven by, and the hand-written classes of its old one (275 bodies), which knew neither
null nor tagged fields.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from kdissect.schema import protocol_messages
from kdissect.schema.field_tokens import parse_versions
from kdissect.schema.types import Message
from tests.schema.schema_layout import (
    TAGS,
    Signature,
    differences,
    json_layout,
    layout,
    signature,
    versions_of,
)

with warnings.catch_warnings():
    # The package reads its definitions, at import too, with a function the standard library deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.protocol.old
    from kafka.protocol.old import types as old
    from kafka.protocol.old.struct import Struct as OldStruct
    from kafka.protocol.schemas.load_json import load_json

pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")

NAMES = sorted(
    path.name.removesuffix(".json")
    for path in files("kafka.protocol.schemas.resources").iterdir()
    if path.name.endswith(".json")
)

# Differences with their reasons; a test fails when one of them is gone, too.
KNOWN = {
    # The same int32, under the name it has since version 6.
    f"TxnOffsetCommitRequest v{version}.{field}: name '{field}' against 'GenerationId'"
    for version in (3, 4, 5)
    for field in ("GenerationIdOrMemberEpoch",)
}

KNOWN_OLD = {
    # A mistake there: partitions is one int32, but an array of int32 in Kafka and in the new definitions.
    "DescribeLogDirsRequest_v0",
    # Mistakes too: version 2 is flexible (KIP-482); here it has the plain form of version 1.
    "DescribeAclsRequest_v2",
    "DescribeAclsResponse_v2",
}


def find(document: dict[str, Any]) -> Message:
    name = document["name"]
    message = {
        "request": protocol_messages.request_message,
        "response": protocol_messages.response_message,
        "header": lambda _: protocol_messages.header_message(name),
        "data": lambda _: protocol_messages.payload(name),
    }[document["type"]](document.get("apiKey", -1))
    assert message is not None
    return message


def test_new_definitions_are_ours() -> None:
    found, bodies = set(), 0
    for name in NAMES:
        document = load_json(name)
        message = find(document)
        versions = parse_versions(document["validVersions"])
        for version in range(versions.first, versions.last + 1):
            bodies += 1
            assert version in message.versions, (name, version)
            for difference in differences(layout(message, version), json_layout(document, version)):
                found.add(f"{name} v{version}{difference}")
    assert found == KNOWN
    assert bodies == 490


@pytest.mark.parametrize("kind", ["request", "response"])
def test_no_version_of_theirs_is_unknown_to_us(kind: str) -> None:
    for name in NAMES:
        document = load_json(name)
        if document["type"] == kind:
            assert max(versions_of(find(document))) >= parse_versions(document["validVersions"]).last, name


# The hand-written classes

PRIMITIVES = {
    old.Int8: "int8", old.Int16: "int16", old.Int32: "int32", old.Int64: "int64", old.Float64: "float64",
    old.Boolean: "bool", old.UUID: "uuid", old.Bytes: "bytes", old.CompactBytes: "compact bytes",
    old.BitField: "int32", old.TaggedFields: TAGS,
}  # fmt: skip


def old_bodies() -> Iterator[type[Any]]:
    seen: set[type[Any]] = set()
    for module in pkgutil.iter_modules(kafka.protocol.old.__path__):
        for found in vars(importlib.import_module(f"kafka.protocol.old.{module.name}")).values():
            if isinstance(found, type) and issubclass(found, OldStruct) and found not in seen:
                seen.add(found)
                if isinstance(getattr(found, "API_VERSION", None), int):
                    yield found


def old_signature(type_: Any) -> Signature:
    if isinstance(type_, old.Schema):
        return tuple(part for field in type_.fields for part in old_signature(field))
    if isinstance(type_, old.Array):
        name = "compact []" if isinstance(type_, old.CompactArray) else "[]"
        return ((name, old_signature(type_.array_of)),)
    if isinstance(type_, old.String):
        return ("compact string" if isinstance(type_, old.CompactString) else "string",)
    return (PRIMITIVES[type_ if isinstance(type_, type) else type(type_)],)


def test_old_classes_are_ours() -> None:
    different, count = set(), 0
    for body in old_bodies():
        api = protocol_messages.api(body.API_KEY)
        assert api is not None
        message = api.request if "Request" in body.__name__ else api.response
        ours = signature(layout(message, body.API_VERSION), message.is_flexible(body.API_VERSION))
        count += 1
        if ours != old_signature(body.SCHEMA):
            different.add(body.__name__)
    assert different == KNOWN_OLD
    assert count == 275
