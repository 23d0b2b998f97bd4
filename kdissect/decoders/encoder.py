"""Values to bytes: for request logs and for tests. Interprets the schema, as `tree_decoder` does.

Values are objects of `values` or mappings by field name. A plain field that is missing is written with its
default. A tagged field is written if it is present, whatever its value, so that a decoded body is encoded to
the same bytes.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from kdissect.decoders.cursor import encode_uvarint
from kdissect.decoders.generated.struct_layout import FIXED, Layout
from kdissect.decoders.generated.values import Value
from kdissect.decoders.headers import REQUEST, RESPONSE, request_header_version, response_header_version
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

Fields = Value | Mapping[str, Any]
_MISSING = object()
_EMPTY: dict[Primitive, Any] = {Primitive.STRING: "", Primitive.UUID: bytes(16), Primitive.BOOL: False}


def encode(message: Message, version: int, value: Fields) -> bytes:
    """Return a message encoded in one version.

    Raises ValueError, which names the path, for a value that has no bytes.
    """
    encoder = _Encoder(Layout(message, version))
    try:
        encoder.struct(message.root, value, message.name)
    except struct.error as error:  # a number or a length beyond its type
        raise ValueError(f"{message.name}: {error}") from None
    return bytes(encoder.out)


def encode_request(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None, body: Fields
) -> bytes:
    """Return a whole request frame, size included. Raises KeyError for an unknown API, else like `encode`."""
    header = encode_request_header(api_key, api_version, correlation_id, client_id)
    return _frame(header, protocol_messages.request_message(api_key), api_version, body)


def encode_response(api_key: int, api_version: int, correlation_id: int, body: Fields) -> bytes:
    """Return a whole response frame, size included.

    Raises KeyError for an unknown API, else like `encode`.
    """
    header = encode_response_header(api_key, api_version, correlation_id)
    return _frame(header, protocol_messages.response_message(api_key), api_version, body)


def _frame(header: bytes, message: Message | None, version: int, body: Fields) -> bytes:
    if message is None:
        raise KeyError("an API that is not in the schema")
    content = header + encode(message, version, body)
    return struct.pack(">i", len(content)) + content


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return a request header without the size before it. Raises ValueError for a value that has no bytes."""
    header = {
        "request_api_key": api_key,
        "request_api_version": api_version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    return encode(
        protocol_messages.header_message(REQUEST), request_header_version(api_key, api_version), header
    )


def encode_response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Return a response header without the size before it.

    Raises ValueError for a value that has no bytes.
    """
    header = {"correlation_id": correlation_id}
    return encode(
        protocol_messages.header_message(RESPONSE), response_header_version(api_key, api_version), header
    )


class _Encoder:
    """Appends to `out`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.out = bytearray()

    def struct(self, of: Struct, value: Fields, path: str) -> None:
        for field in self._layout.plain_fields(of):
            item = _get(value, field.name)
            if item is _MISSING:
                item = self._default(field)
            self._field(field, item, f"{path}.{field.name}", tagged=False)
        if self._layout.flexible:
            self._tag_section(of, value, path)

    def _default(self, field: Field) -> Any:
        if field.default is not None or self._layout.is_nullable(field):
            return field.default
        if isinstance(field.type, Array):
            return ()
        if isinstance(field.type, Struct):
            return {}
        return _EMPTY.get(field.type, 0 if field.type in FIXED else b"")

    def _field(self, field: Field, item: Any, path: str, tagged: bool) -> None:
        nullable = self._layout.is_nullable(field)
        if isinstance(field.type, Struct) and nullable:
            # Markers: quirks.is_null_marker.
            present = item is not None
            self.out += bytes([present]) if tagged else b"\x01" if present else b"\xff"
            if not present:
                return
        if item is None and not nullable:
            raise ValueError(f"{path}: null is not allowed")
        self._item(field, field.type, item, path)

    def _item(self, field: Field, kind: Type, item: Any, path: str) -> None:
        if isinstance(kind, Struct):
            self.struct(kind, item, path)
        elif isinstance(kind, Array):
            self._array(field, kind, item, path)
        elif kind in FIXED:
            self._fixed(kind, item, path)
        else:
            self._variable(field, kind, item)

    def _fixed(self, kind: Primitive, item: Any, path: str) -> None:
        try:
            self.out += struct.pack(">" + FIXED[kind][0], item)
        except struct.error as error:
            raise ValueError(f"{path}: {item!r} is no {kind} ({error})") from None

    def _variable(self, field: Field, kind: Primitive, item: Any) -> None:
        content = item.encode() if isinstance(item, str) else item
        is_text = kind is Primitive.STRING
        self._length(content, self._layout.is_compact(field), ">h" if is_text else ">i")
        if content is not None:
            self.out += content

    def _array(self, field: Field, kind: Array, items: Any, path: str) -> None:
        self._length(items, self._layout.flexible, ">i")
        for index, item in enumerate(items or ()):
            self._item(field, kind.element, item, f"{path}[{index}]")

    def _length(self, item: Sequence[Any] | None, compact: bool, code: str) -> None:
        length = -1 if item is None else len(item)
        self.out += encode_uvarint(length + 1) if compact else struct.pack(code, length)

    def _tag_section(self, of: Struct, value: Fields, path: str) -> None:
        unknown = value._tags if isinstance(value, Value) else value.get("_tags", {})  # noqa: SLF001  a field
        tags = {tag: bytes(content) for tag, content in unknown.items()}
        for field in self._layout.tagged_fields(of):
            item = _get(value, field.name)
            if item is not _MISSING and field.tag is not None:
                inner = _Encoder(self._layout)
                inner._field(field, item, f"{path}.{field.name}", tagged=True)
                tags[field.tag] = bytes(inner.out)
        self.out += encode_uvarint(len(tags))
        for tag, content in sorted(tags.items()):
            self.out += encode_uvarint(tag) + encode_uvarint(len(content)) + content


def _get(value: Fields, name: str) -> Any:
    if isinstance(value, Value):
        try:
            return object.__getattribute__(value, name)
        except AttributeError:
            return _MISSING
    return value.get(name, _MISSING)
