"""Fields picked out of bodies are those of the bodies decoded whole."""

from functools import cache
from typing import Any

import pytest

import kdissect
from kdissect.decoders.as_json.jsonable import bytes_value, float_value, uuid_text
from kdissect.decoders.generated.projection import Projector, projector
from kdissect.engine.exchange_bodies import body_of
from kdissect.query.fields.schema_fields import BodyField, body_fields
from kdissect.schema.protocol_messages import api
from kdissect.schema.types import Array, Message, Primitive, Struct
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES
from tests.support.rows import values_at

# Between them every API in nearly every version that brokers of three releases answer, and clients ask.
NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka39_franz_raw.pcapng", "kafka39zk_franz_raw.pcapng",
    "kafka44_franz_raw.pcapng", "kafka44_java_streams.pcapng", "tansu_rdk216_acks.pcap",
)  # fmt: skip


def as_projected(field: BodyField, value: Any) -> Any:
    """Return a value of a row as a projector gives it."""
    if value is None:
        return None
    kind = field.field.type.element if isinstance(field.field.type, Array) else field.field.type
    if isinstance(kind, Struct):
        return True
    return value["bytes"] if kind is Primitive.RECORDS else value


def as_row(field: BodyField, value: Any) -> Any:
    """Return what a projector gives as a row has it."""
    kind = field.field.type.element if isinstance(field.field.type, Array) else field.field.type
    if value is None or isinstance(kind, Struct) or kind is Primitive.RECORDS:
        return value
    if kind is Primitive.UUID:
        return uuid_text(value)
    if kind is Primitive.BYTES:
        return bytes_value(value)
    return float_value(value) if isinstance(value, float) else value


@cache
def all_fields(message: Message, version: int, key: int, side: str) -> Projector:
    """Return a projector of every field, each in the slot of its place in `body_fields`."""
    wanted = {field.path: [slot] for slot, field in enumerate(body_fields(key, side))}
    return projector(message, version, wanted, len(wanted))


def check(exchange: Exchange, side: str) -> int:
    """Compare all fields of one body, and return the number of values."""
    decoded = body_of(exchange, side, show_secrets=True)
    frame = exchange.request if side == "request" else exchange.response
    found = None if exchange.api_key is None else api(exchange.api_key)
    if decoded.body is None or frame is None or found is None or exchange.api_version is None:
        return 0
    offset = exchange.request_body_offset if side == "request" else exchange.response_body_offset
    version = exchange.api_version
    if side == "response" and any(a.kind == "version_fallback" for a in exchange.anomalies or ()):
        version = 0
    message = found.request if side == "request" else found.response
    projected = all_fields(message, version, found.key, side)(frame.data, offset)
    assert projected is not None
    for field, values in zip(body_fields(found.key, side), projected, strict=True):
        expected = [as_projected(field, value) for value in values_at(decoded.body, ".".join(field.path))]
        assert [as_row(field, value) for value in values] == expected, (exchange, side, field.name)
    return sum(map(len, projected))


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_every_body(name: str) -> None:
    seen = 0
    for exchange in kdissect.open(str(CAPTURES / name)):
        seen += check(exchange, "request") + check(exchange, "response")
    assert seen > 500


def test_what_is_not_wanted_is_not_collected() -> None:
    metadata = api(3)
    assert metadata is not None
    project = projector(metadata.response, 12, {("topics", "name"): [1]}, 3)
    (exchange,) = [
        e for e in kdissect.open(str(CAPTURES / "tansu_rdk216_txn.pcap")) if e.api_key == 3 and e.ordinal == 1
    ][:1]
    assert exchange.response is not None
    found = project(exchange.response.data, exchange.response_body_offset)
    assert found is not None
    assert (found[0], found[2]) == ((), ())
    assert found[1] == [topic.name for topic in exchange.response_body().topics]


def test_bytes_that_do_not_fit_give_nothing() -> None:
    metadata = api(3)
    assert metadata is not None
    project = projector(metadata.response, 1, {("topics", "name"): [0]}, 1)
    assert project(b"", 0) is None
    assert project(b"\x00\x00\x00\x01\xff", 0) is None
    assert project(bytes(12), 0) == ([],)  # no broker, no controller, no topic
    assert project(bytes(11), 0) is None
