"""Oracle: what kafka-python 3.0.12, an outside implementation, encodes gives back its values when decoded."""

import importlib
import uuid
import warnings
from typing import Any

import pytest

from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.summary import summarizer
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.decoders.quirks import API_VERSIONS, UNSUPPORTED_VERSION
from kdissect.schema.types import Array, Field, Message, MessageKind, Primitive, Struct
from tests.conformance.plain import plain
from tests.conformance.random_values import ValueMaker, all_bodies

with warnings.catch_warnings():
    # The package reads its definitions, at import too, with a function the standard library deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.schemas.fields.codecs.types import BitField

    for package in ("metadata", "admin", "consumer", "producer", "sasl"):
        importlib.import_module(f"kafka.protocol.{package}")

pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")

SEEDS = range(1)
CLASSES = {found.name: found for found in ApiMessage.__subclasses__() if found.json}
# Their names for some of our fields.
RENAMED = {
    "generation_id": ["generation_id_or_member_epoch"],
    "generation_id_or_member_epoch": ["generation_id"],
    "authorized_operations": ["cluster_authorized_operations", "topic_authorized_operations"],
}


def kafka_python_bodies() -> list[tuple[Message, int]]:
    """Messages and versions both know. Theirs are those of Apache Kafka 4, with all older versions added."""
    found = []
    for message, version in all_bodies():
        theirs = CLASSES.get(message.name)
        low, high = (0, -1) if theirs is None else theirs.valid_versions
        if low <= version <= high:
            found.append((message, version))
    return found


def arguments(theirs: Any, ours: Struct, value: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the constructor arguments of their class for a struct of ours."""
    fields = {field.name: field for field in ours.fields}
    found = {}
    for field in theirs:
        if field.for_version_q(version):
            (our_field,) = (
                fields[name] for name in (field.name, *RENAMED.get(field.name, ())) if name in fields
            )
            if our_field.name in value:
                found[field.name] = argument(field, our_field, value[our_field.name], version)
    return found


def argument(theirs: Any, ours: Field, item: Any, version: int) -> Any:
    kind = ours.type.element if isinstance(ours.type, Array) else ours.type
    if item is None:
        return None
    if isinstance(ours.type, Array):
        return [element(theirs, kind, part, version) for part in item]
    if theirs._type_str == "bitfield":  # patched into their definitions of authorized operations
        return BitField.from_32_bit_field(item & 0xFFFFFFFF)
    return element(theirs, kind, item, version)


def element(theirs: Any, kind: Primitive | Struct, item: Any, version: int) -> Any:
    if isinstance(kind, Struct):
        return theirs.data_class(version=version, **arguments(theirs.fields.values(), kind, item, version))
    return uuid.UUID(bytes=item) if kind is Primitive.UUID else item


def as_sent(of: Struct, value: dict[str, Any], message: Message, version: int) -> dict[str, Any]:
    """Without tagged fields that have their default: those are not sent."""
    found = dict(value)
    for field in of.fields:
        if field.name not in value:
            continue
        item = value[field.name]
        kind = field.type.element if isinstance(field.type, Array) else field.type
        tagged = field.tag is not None and message.is_flexible(version) and version in field.tagged
        if tagged and item == (list(field.default) if isinstance(field.default, tuple) else field.default):
            del found[field.name]
        elif isinstance(kind, Struct) and item is not None:
            if isinstance(field.type, Array):
                found[field.name] = [as_sent(kind, part, message, version) for part in item]
            else:
                found[field.name] = as_sent(kind, item, message, version)
    return found


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", sorted(CLASSES))
def test_what_kafka_python_encodes_is_decoded(name: str) -> None:
    for message, version in kafka_python_bodies():
        if message.name != name:
            continue
        for seed in SEEDS:
            value = ValueMaker(message, version, seed, unknown_tags=False).body()
            theirs = CLASSES[name]
            body = theirs[version](**arguments(theirs.fields.values(), message.root, value, version))
            data = bytes(body.encode(version=version))
            sent = as_sent(message.root, value, message, version)
            decoded, end = decoder(message, version)(data, 0)
            assert plain(decoded) == sent, (name, version, data.hex())
            assert end == len(data)
            assert summarizer(message, version)(data, 0).fits
            body.with_header(correlation_id=-7, client_id="caf\u00e9")
            check_frame(message, version, bytes(body.encode(header=True, framed=True)), sent)


def check_frame(message: Message, version: int, frame: bytes, body: dict[str, Any]) -> None:
    assert message.api_key is not None
    if message.kind is MessageKind.REQUEST:
        header, decoded = decode_request(frame)
        assert header[:4] == (message.api_key, version, -7, "caf\u00e9")
        assert plain(decoded) == body
        assert plain(decode_request(frame[4:]).body) == body
    elif not (message.api_key == API_VERSIONS and body["error_code"] == UNSUPPORTED_VERSION):
        response = decode_response(frame, message.api_key, version)
        assert (response.correlation_id, response.version) == (-7, version)
        assert plain(response.body) == body
        assert plain(decode_response(frame[4:], message.api_key, version).body) == body


def test_how_many_there_are() -> None:
    # Of its 490 message versions the others are headers and payloads.
    assert len(kafka_python_bodies()) == 478
