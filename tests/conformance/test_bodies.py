"""Every body of the protocol: decoders, encoder, JSON and summary agree, every byte is accounted for."""

import json
from functools import cache
from typing import Any

import pytest

from kdissect.decoders.as_json.jsonable import to_jsonable
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.summary import summarizer
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Field, Message, MessageKind, Primitive, Struct
from tests.conformance.plain import plain
from tests.conformance.random_values import ValueMaker

SEEDS = range(2)
PADDING = b"\xee" * 7  # the body does not start at 0, and something may lie before it
API_KEYS = sorted(protocol_messages.api_keys())


@cache
def bodies_of(api_key: int) -> list[tuple[Message, int, dict[str, Any], bytes]]:
    api = protocol_messages.api(api_key)
    assert api
    made = []
    for message in (api.request, api.response):
        for version in range(message.versions.first, message.versions.last + 1):
            for seed in SEEDS:
                value = ValueMaker(message, version, seed).body()
                made.append((message, version, value, encode(message, version, value)))
    return made


@pytest.mark.sampled(12)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_what_was_encoded_is_decoded(api_key: int) -> None:
    for message, version, value, data in bodies_of(api_key):
        decoded, end = decoder(message, version)(PADDING + data, len(PADDING))
        assert end == len(PADDING) + len(data), (message, version)
        assert plain(decoded) == value, (message, version)
        assert encode(message, version, decoded) == data, (message, version)


@pytest.mark.parametrize("api_key", API_KEYS)
def test_trees_have_the_same_values_and_every_byte(api_key: int) -> None:
    for message, version, _, data in bodies_of(api_key):
        tree = dissect(message, version, PADDING + data, len(PADDING))
        decoded, _ = decoder(message, version)(data, 0)
        assert tree.error is None, (message, version, tree.error)
        assert tree.value == decoded, (message, version)
        assert (tree.start, tree.end) == (len(PADDING), len(PADDING) + len(data))
        assert_tiled(tree)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_the_smallest_bodies_pass_the_check_of_counts(api_key: int) -> None:
    for message, version, _, _ in bodies_of(api_key):
        for depth in range(1, 4):
            value = smallest(message.root, message, version, depth)
            data = encode(message, version, value)
            assert plain(decoder(message, version)(data, 0)[0]) == value, (message, version)
            assert dissect(message, version, data).error is None


def smallest(of: Struct, message: Message, version: int, depth: int) -> dict[str, Any]:
    """Null or empty wherever that is allowed, but with three elements in arrays down to `depth`."""
    tagged = {
        f.name
        for f in of.fields
        if f.tag is not None and message.is_flexible(version) and version in f.tagged
    }
    fields = [f for f in of.fields if version in f.versions and f.name not in tagged]
    return {field.name: smallest_value(field, message, version, depth) for field in fields}


def smallest_value(field: Field, message: Message, version: int, depth: int) -> Any:
    kind = field.type
    if isinstance(kind, Array) and isinstance(kind.element, Struct) and depth:
        return [smallest(kind.element, message, version, depth - 1)] * 3
    if version in field.nullable:
        return None
    if isinstance(kind, Struct):
        return smallest(kind, message, version, depth)
    empty = {Primitive.STRING: "", Primitive.BYTES: b"", Primitive.RECORDS: b"", Primitive.UUID: bytes(16)}
    return [] if isinstance(kind, Array) else empty.get(kind, 0)


def assert_tiled(node: Node) -> None:
    at = node.start
    for child in node.children:
        assert child.start == at, child
        at = child.end
        assert_tiled(child)
    assert not node.children or at == node.end, node


@pytest.mark.sampled(12)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_all_values_go_into_json(api_key: int) -> None:
    for message, version, _, data in bodies_of(api_key):
        decoded, _ = decoder(message, version)(data, 0)
        for show_secrets in (False, True):
            told = to_jsonable(decoded, show_secrets)
            assert json.loads(json.dumps(told, allow_nan=False)) == told, (message, version)


@pytest.mark.parametrize("api_key", API_KEYS)
def test_summaries_find_what_the_values_hold(api_key: int) -> None:
    for message, version, value, data in bodies_of(api_key):
        summary = summarizer(message, version)(PADDING + data, len(PADDING))
        expected = Facts(message)
        expected.struct(message.root, value)
        assert summary.complete, (message, version)
        assert summary.fits
        assert list(summary.errors) == list(expected.errors), (message, version)
        assert list(summary.topics) == list(expected.topics), (message, version)
        assert list(summary.topic_ids) == list(expected.topic_ids), (message, version)
        is_produce = message.api_key == 0 and message.kind is MessageKind.REQUEST
        assert summary.acks == (value["acks"] if is_produce else None)


class Facts:
    """What a summary must hold, looked for in the values; tagged fields stand behind the others."""

    def __init__(self, message: Message) -> None:
        self.errors: dict[int, None] = {}
        self.topics: dict[str, None] = {}
        self.topic_ids: dict[bytes, None] = {}

    def struct(self, of: Struct, value: dict[str, Any]) -> None:
        for field in sorted(of.fields, key=lambda field: -1 if field.tag is None else field.tag):
            if field.name in value:
                self.field(field, value[field.name])

    def field(self, field: Field, value: Any) -> None:
        kind = field.type.element if isinstance(field.type, Array) else field.type
        for item in value if isinstance(field.type, Array) and value is not None else [value]:
            if isinstance(kind, Struct) and item is not None:
                self.struct(kind, item)
            elif kind is Primitive.STRING and field.entity == "topicName" and item is not None:
                self.topics[item] = None
            elif kind is Primitive.UUID and field.entity == "topicId" and item != bytes(16):
                self.topic_ids[item] = None
            elif field.is_error and item:
                self.errors[item] = None
