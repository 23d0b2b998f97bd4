"""Oracle, where kio is installed: what it encodes gives back its values when decoded.

kio knows the current versions of every API, so it covers what kafka-python does not: controllers and groups.
"""

import dataclasses
import datetime
import io
import uuid
from functools import cache
from pkgutil import resolve_name
from types import NoneType
from typing import Any, get_args, get_origin

import pytest

from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Field, Message, Primitive, Struct
from tests.conformance.plain import plain
from tests.conformance.random_values import ValueMaker

index = pytest.importorskip("kio.schema.index", reason="kio is not installed")
serial = pytest.importorskip("kio.serial", reason="kio is not installed")
errors = pytest.importorskip("kio.schema.errors", reason="kio is not installed")

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
ERROR_CODES = sorted(code.value for code in errors.ErrorCode)
API_KEYS = sorted(protocol_messages.api_keys())


@cache
def entities() -> tuple[tuple[type[Any], Message, int], ...]:
    """kio's class for every request and response, and ours."""
    found = []
    for versions in index.schema_name_map.values():
        for kinds in versions.values():
            for path in kinds.values():
                entity = resolve_name(path)
                message = message_of(entity)
                if message:
                    found.append((entity, message, int(entity.__version__)))
    return tuple(found)


def message_of(entity: type[Any]) -> Message | None:
    if entity.__type__.name == "request":
        return protocol_messages.request_message(int(entity.__api_key__))
    if entity.__type__.name == "response":
        return protocol_messages.response_message(int(entity.__api_key__))
    return None


class Pairing:
    """Makes kio's object of a random value, and the value as it must come back."""

    def __init__(self, message: Message, version: int) -> None:
        self._layout = Layout(message, version)
        self._maker = ValueMaker(message, version, 0, most=2, unknown_tags=False)

    def body(self, entity: type[Any]) -> tuple[Any, dict[str, Any]]:
        """Return their object, and the value as it must come back."""
        return self.struct(self._layout.message.root, entity, self._maker.body())

    def struct(self, of: Struct, entity: type[Any], value: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        ours = self._layout.plain_fields(of) + self._layout.tagged_fields(of)
        theirs = dataclasses.fields(entity)
        untagged = [field for field in theirs if "tag" not in field.metadata]
        tagged = sorted((f for f in theirs if "tag" in f.metadata), key=lambda field: field.metadata["tag"])
        arguments, expected = {}, {}
        for our_field, their_field in zip(ours, [*untagged, *tagged], strict=True):
            if our_field.name not in value and their_field.default is not dataclasses.MISSING:
                continue
            given = value[our_field.name] if our_field.name in value else self._maker.field(our_field)
            item, back = self._field(our_field, their_field, given)
            if self._layout.is_tagged(our_field) and item in (None, their_field.default):
                continue  # kio leaves out what has its default
            arguments[their_field.name], expected[our_field.name] = item, back
        return entity(**arguments), expected

    def _field(self, ours: Field, theirs: Any, item: Any) -> tuple[Any, Any]:
        if item is None:
            return None, None
        hint = without_none(theirs.type)
        if isinstance(ours.type, Array):
            pairs = [self._item(ours.type.element, theirs, get_args(hint)[0], part) for part in item]
            return tuple(pair[0] for pair in pairs), [pair[1] for pair in pairs]
        return self._item(ours.type, theirs, hint, item)

    def _item(self, kind: Any, theirs: Any, hint: Any, item: Any) -> tuple[Any, Any]:
        if isinstance(kind, Struct):
            return self.struct(kind, without_none(hint), item)
        if kind is Primitive.UUID:
            return uuid.UUID(bytes=item), item
        return number(theirs.metadata["kafka_type"], item)


def number(kafka_type: str, item: Any) -> tuple[Any, Any]:
    """Return numbers that kio turns into objects, within what those can hold."""
    if kafka_type == "error_code":
        code = ERROR_CODES[item % len(ERROR_CODES)]
        return errors.ErrorCode(code), code
    if kafka_type.startswith("timedelta"):
        span = item % 10**9
        return MILLISECOND * span, span
    if kafka_type.startswith("datetime"):
        moment = item % 10**12
        return EPOCH + MILLISECOND * moment, moment
    return item, item


def without_none(hint: Any) -> Any:
    members = [member for member in get_args(hint) if member is not NoneType]
    return members[0] if NoneType in get_args(hint) and get_origin(hint) is not tuple else hint


@pytest.mark.sampled(48)
@pytest.mark.parametrize("api_key", API_KEYS)
def test_what_kio_encodes_is_decoded(api_key: int) -> None:
    for entity, message, version in entities():
        if message.api_key != api_key:
            continue
        theirs, expected = Pairing(message, version).body(entity)
        buffer = io.BytesIO()
        serial.entity_writer(entity)(buffer, theirs)
        decoded, end = decoder(message, version)(buffer.getvalue(), 0)
        assert plain(decoded) == expected, (message.name, version)
        assert end == len(buffer.getvalue()), (message.name, version)


def test_how_many_there_are() -> None:
    assert len(list(entities())) > 500
