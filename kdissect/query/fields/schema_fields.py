"""The fields of bodies: every path of every message, with the kind of its values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kdissect.decoders.generated.projection import Path
from kdissect.query.fields.named import ERROR, enum_kind, flag_kind
from kdissect.query.values.points_in_time import TIME_MS
from kdissect.query.values.units import MILLISECONDS, SIZE
from kdissect.query.values.value_kinds import BYTES, FLAG, NUMBER, REAL, STRUCTURE, TEXT, UUID, ValueKind
from kdissect.schema.protocol_messages import api, api_keys
from kdissect.schema.types import Array, Field, Primitive, Struct

REQUEST, RESPONSE = "request", "response"
SIDES = (REQUEST, RESPONSE)
_PLAIN: dict[Primitive, ValueKind] = {
    Primitive.BOOL: FLAG,
    Primitive.FLOAT64: REAL,
    Primitive.UUID: UUID,
    Primitive.STRING: TEXT,
    Primitive.BYTES: BYTES,
    Primitive.RECORDS: SIZE,
}


class BodyField(NamedTuple):
    """One field of one API's request or response. `is_many`: its path contains an array, or it is an
    array.
    """

    side: str
    api_key: int
    path: Path
    kind: ValueKind
    field: Field
    is_many: bool

    @property
    def name(self) -> str:
        """As filters write it."""
        return ".".join((self.side, *self.path))


@cache
def body_fields(api_key: int, side: str) -> tuple[BodyField, ...]:
    """Return every field of a request or response, in the schema's order, empty for an unknown API."""
    found = api(api_key)
    if found is None:
        return ()
    root = found.request.root if side == REQUEST else found.response.root
    return tuple(_fields_of(api_key, side, root, (), False))


def all_body_fields(side: str, keys: frozenset[int] | None = None) -> Iterator[BodyField]:
    """Yield the fields of some APIs, or of every API."""
    for key in sorted(api_keys() if keys is None else keys & api_keys()):
        yield from body_fields(key, side)


def _fields_of(key: int, side: str, struct: Struct, path: Path, is_many: bool) -> Iterator[BodyField]:
    for field in struct.fields:
        is_array = isinstance(field.type, Array)
        element = field.type.element if isinstance(field.type, Array) else field.type
        here = (*path, field.name)
        many = is_many or is_array
        yield BodyField(side, key, here, kind_of(field), field, many)
        if isinstance(element, Struct):
            yield from _fields_of(key, side, element, here, many)


def kind_of(field: Field) -> ValueKind:
    """Return the kind of a field's values: for an array that of its elements."""
    element = field.type.element if isinstance(field.type, Array) else field.type
    if isinstance(element, Struct):
        return STRUCTURE
    if field.is_error:
        return ERROR
    if field.enum is not None and element is Primitive.BOOL:
        return flag_kind(field.enum)
    if field.enum is not None:
        named = enum_kind(field.enum, element is not Primitive.STRING)
        if named is not None:
            return named
    return _PLAIN.get(element) or _number(field.name)


def _number(name: str) -> ValueKind:
    """Return numbers by their names: Kafka ends the name of what has a unit with it."""
    if name.endswith("_ms"):
        return TIME_MS if "timestamp" in name or name == "log_append_time_ms" else MILLISECONDS
    return SIZE if name.endswith("_bytes") else NUMBER
