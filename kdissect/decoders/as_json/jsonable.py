"""Values as JSON can hold them.

Fields that are not on the wire are left out. Null is null on the wire. Integers stay exact. NaN and
infinities are strings. A string that is not UTF-8 and every bytes field is `{"base64": ...}`. A uuid is
written as Kafka prints it. Records are `{"bytes": n}`. Unknown tags are under `_tags`. Secrets are masked.
Next to a bytes field `x` that contains a known payload there is `x_decoded`.
"""

from binascii import b2a_base64
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any

from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import Bytes, CutRecords, Value
from kdissect.schema.secrets import MASK, conceal, has_config_values, is_beyond_reason, is_piece
from kdissect.schema.types import Array, Field, Primitive, Type

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UUID_TEXT = 22  # 16 bytes in base64 without the padding (org.apache.kafka.common.Uuid#toString)
_UUID_CACHE = 4096  # topic ids repeat in every request: a few thousand topics, under 1 MB


PAYLOAD_SUFFIX = "_decoded"
TAGS = "_tags"  # tags that the schema does not know, by their number
Expand = Callable[[Field, bytes, tuple[Value, ...]], dict[str, Any] | None]
"""`(field, bytes, structs around it, outermost first)`: the decoded content of the bytes, or None if it is
not known.
"""


def to_jsonable(value: Value, show_secrets: bool = False, expand: Expand | None = None) -> dict[str, Any]:
    """Return a decoded value as a dict for `json.dumps`; `expand` decodes what bytes fields hold.

    Raises nothing.
    """
    return Jsonable(show_secrets, expand).struct(value)


_AS_THEY_ARE = frozenset((int, str, bool))


class Jsonable:
    """`to_jsonable` of many values. Fields are in the order of the schema, or of `layout`, as on the wire."""

    def __init__(
        self, show_secrets: bool = False, expand: Expand | None = None, layout: Layout | None = None
    ) -> None:
        self._show_secrets = show_secrets
        self._expand = expand
        self._layout = layout
        self._fields: dict[type[Value], tuple[tuple[Field, ...], bool]] = {}

    def struct(self, value: Value, around: tuple[Value, ...] = ()) -> dict[str, Any]:
        """Return a struct in those around it, outermost first."""
        out: dict[str, Any] = {}
        chain = (*around, value)
        fields, is_config = self._fields_of(value)
        for field in fields:
            name = field.name
            try:
                item = object.__getattribute__(value, name)
            except AttributeError:
                continue
            if item is None or (item.__class__ in _AS_THEY_ARE and not field.is_secret):
                out[name] = item  # hot: nearly all
                continue
            masked = field.is_secret and not self._show_secrets
            out[name] = MASK if masked else self._item(field.type, item, chain)
            if field.payload and item and self._expand:
                inside = self._expand(field, bytes(item), chain)
                if inside is not None:
                    out[name + PAYLOAD_SUFFIX] = inside
        tags = value._tags  # noqa: SLF001  the name is what JSON shows; it is no private of Value
        if tags:
            out["_tags"] = {str(tag): bytes_value(content) for tag, content in tags.items()}
        if is_config and not self._show_secrets:
            conceal(out, value.struct_fields)
        return out

    def _fields_of(self, value: Value) -> tuple[tuple[Field, ...], bool]:
        """Return the fields of a struct, and whether it is a config."""
        found = self._fields.get(value.__class__)
        if found is None:
            fields, layout = value.struct_fields, self._layout
            if layout is not None:
                fields = (*layout.plain_of(fields), *layout.tagged_of(fields))
            found = self._fields[value.__class__] = fields, has_config_values(value.struct_fields)
        return found

    def _item(self, of: Type, item: Any, chain: tuple[Value, ...]) -> Any:
        if isinstance(item, Value):
            return self.struct(item, chain)
        if isinstance(of, Array) and item is not None:
            if item and item[0].__class__ is int:
                return item
            return [self._item(of.element, element, chain) for element in item]
        if isinstance(item, Bytes):
            return _binary(of, item)
        return float_value(item) if isinstance(item, float) else item


def _binary(of: Type, item: Bytes) -> Any:
    if of is Primitive.RECORDS:
        return {"bytes": item.size if isinstance(item, CutRecords) else len(item)}
    return uuid_text(bytes(item)) if of is Primitive.UUID else bytes_value(item)


@lru_cache(maxsize=_UUID_CACHE)
def uuid_text(value: bytes) -> str:
    """Return a uuid as Kafka prints it: base64url without padding, 22 characters."""
    return b2a_base64(value, newline=False).translate(_URL_SAFE)[:_UUID_TEXT].decode("ascii")


def bytes_value(value: Bytes) -> dict[str, str]:
    """Return bytes as standard base64."""
    return {"base64": b2a_base64(value, newline=False).decode("ascii")}


def float_value(value: float) -> float | str:
    """Return a float, or `NaN`, `Infinity`, `-Infinity`, which JSON numbers cannot say."""
    if isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def text_or_bytes(value: bytes) -> str | bytes:
    """Return a str, or the bytes themselves if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def text_value(value: bytes) -> str | dict[str, str]:
    """Return a str, or base64 if the bytes are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return bytes_value(value)


def may_be_misread(told: Any) -> bool:
    """Return whether a value for JSON has tags that the schema does not know, or a number beyond reason, at
    any depth.
    """
    if isinstance(told, dict):
        return TAGS in told or any(map(may_be_misread, told.values()))
    return any(map(may_be_misread, told)) if isinstance(told, list) else is_beyond_reason(told)


def blanked(told: Any) -> Any:
    """Return a value for JSON with all masked that may be a piece of a secret."""
    if isinstance(told, dict):
        return MASK if told.keys() == {"base64"} else {name: blanked(item) for name, item in told.items()}
    if isinstance(told, list):
        return [blanked(item) for item in told]
    return MASK if is_piece(told) else told
