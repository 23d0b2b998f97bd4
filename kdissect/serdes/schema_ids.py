"""The id of a schema that serializers write before a key or value, or into a header of its record."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from kdissect.model.record_batch import Header

GUESS = "maybe_"
"""Before the name of a format that is a guess."""


class WireFormat(StrEnum):
    """Where the id is, and in which form.

    A format whose name begins with `maybe_` is a guess: any bytes may begin with a zero byte. It becomes the
    format without `maybe_` if a given schema has that id and decodes the bytes to their end.
    """

    CONFLUENT = "confluent"
    MAYBE_CONFLUENT = "maybe_confluent"
    CONFLUENT_HEADER = "confluent_header"
    APICURIO = "apicurio"
    MAYBE_APICURIO = "maybe_apicurio"
    APICURIO_GLOBAL_ID = "apicurio_global_id"
    APICURIO_CONTENT_ID = "apicurio_content_id"
    GLUE = "glue"


SURE_OF = {
    WireFormat.MAYBE_CONFLUENT: WireFormat.CONFLUENT,
    WireFormat.MAYBE_APICURIO: WireFormat.APICURIO,
}
"""The proven format of a guess."""


class SchemaId(NamedTuple):
    """The schema id of a key or value, and the offset of the content that it describes.

    Either `number` or `guid` is set. `indexes` are the Protobuf message indexes, `message` is the name of the
    Protobuf message, if a header has them.
    `is_zlib`: what follows is compressed (AWS Glue).
    """

    wire_format: WireFormat
    number: int | None = None
    guid: str | None = None
    indexes: tuple[int, ...] | None = None
    start: int = 0
    is_zlib: bool = False
    message: str | None = None

    def __str__(self) -> str:
        return f"GUID {self.guid}" if self.number is None else f"id {self.number}"


# Names and form come from confluent_kafka.schema_registry (SchemaId#from_bytes).
_CONFLUENT_HEADERS = ("__value_schema_id", "__key_schema_id")
_MAGIC_ID, _MAGIC_GUID = 0, 1
_ID_END, _GUID_END = 5, 17
# io.apicurio.registry.serde.SerdeHeaders; DefaultIdHandler writes the zero byte and a long.
_APICURIO_HEADERS = (
    {
        "apicurio.value.globalId": WireFormat.APICURIO_GLOBAL_ID,
        "apicurio.value.contentId": WireFormat.APICURIO_CONTENT_ID,
    },
    {
        "apicurio.key.globalId": WireFormat.APICURIO_GLOBAL_ID,
        "apicurio.key.contentId": WireFormat.APICURIO_CONTENT_ID,
    },
)
_APICURIO_MESSAGE = "apicurio.protobuf.type"  # ProtobufSerdeHeaders
_LONG = 8
_LONG_END = 9
# AWS Glue: version byte 3, compression byte 0 (none) or 5 (zlib), then a random UUID (RFC 9562 version 4).
_GLUE_VERSION, _GLUE_ZLIB, _GLUE_COMPRESSIONS, _GLUE_END = 3, 5, (0, 5), 18
_RANDOM_UUID, _VARIANT = 4, 0b10
_NAME_TAG, _ONE_BYTE = 0x0A, 0x80  # field 1 with bytes; a varint below it has one byte
_MAX_INDEXES = 64  # messages inside of each other. protoc itself stops at 32


def schema_id(
    content: bytes | None, headers: Iterable[Header], is_key: bool, with_doubtful: bool = False
) -> SchemaId | None:
    """Return the schema id of a key or value; None if the bytes show none.

    `with_doubtful`: also return an id that is not credible unless a schema proves it (`is_doubtful`).
    """
    if content is None:
        return None
    if headers:
        found = _of_headers(headers, is_key)
        if found is not None:
            return found
    found = _of_prefix(content)
    return None if found is not None and not with_doubtful and is_doubtful(found, content) else found


def is_doubtful(found: SchemaId, content: bytes) -> bool:
    """Return whether an id is of nothing, or as likely a part of a number: a long or double
    (LongSerializer).
    """
    return len(content) == found.start or (found.start == _ID_END and len(content) == _LONG)


def _of_headers(headers: Iterable[Header], is_key: bool) -> SchemaId | None:
    apicurio = _APICURIO_HEADERS[is_key]
    for name, value in headers:
        if value is None:
            continue
        if name == _CONFLUENT_HEADERS[is_key]:
            return _of_confluent_header(value)  # clients read the first of that name
        if isinstance(name, str) and name in apicurio and len(value) == _LONG:
            number = int.from_bytes(value, "big", signed=True)
            return SchemaId(apicurio[name], number, message=_message_name(headers))
    return None


def _message_name(headers: Iterable[Header]) -> str | None:
    found = next((value for name, value in headers if name == _APICURIO_MESSAGE), None)
    return None if found is None else found.decode("utf-8", "replace")


def _of_confluent_header(value: bytes) -> SchemaId | None:
    magic = value[0] if value else None
    end = _GUID_END if magic == _MAGIC_GUID else _ID_END
    if magic not in (_MAGIC_ID, _MAGIC_GUID) or len(value) < end:
        return None
    indexes = None
    if len(value) > end:
        read = message_indexes(value, end)
        if read is None or read[1] != len(value):
            return None
        indexes = read[0]
    if magic == _MAGIC_ID:
        return SchemaId(WireFormat.CONFLUENT_HEADER, int.from_bytes(value[1:end], "big"), None, indexes)
    return SchemaId(WireFormat.CONFLUENT_HEADER, None, uuid_text(value[1:end]), indexes)


def _of_prefix(content: bytes) -> SchemaId | None:
    size = len(content)
    if size < _ID_END:
        return None
    first = content[0]
    if first == _MAGIC_ID:
        number = int.from_bytes(content[1:_ID_END], "big")
        if number == 0:
            return _of_long(content)
        if number >= 1 << 31:  # ids are positive ints
            return None
        return SchemaId(WireFormat.MAYBE_CONFLUENT, number, start=_ID_END)
    if first == _GLUE_VERSION and size >= _GLUE_END and content[1] in _GLUE_COMPRESSIONS:
        guid = content[2:_GLUE_END]
        if guid[6] >> 4 == _RANDOM_UUID and guid[8] >> 6 == _VARIANT:
            is_zlib = content[1] == _GLUE_ZLIB
            return SchemaId(WireFormat.GLUE, None, uuid_text(guid), start=_GLUE_END, is_zlib=is_zlib)
    return None


def _of_long(content: bytes) -> SchemaId | None:
    """Return an id of eight bytes, small enough that its first four are zero."""
    number = int.from_bytes(content[1:_LONG_END], "big")
    if number == 0 or len(content) < _LONG_END:
        return None
    return SchemaId(WireFormat.MAYBE_APICURIO, number, start=_LONG_END)


def uuid_text(data: bytes) -> str:
    """Return 16 bytes as the text of a UUID."""
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def message_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int] | None:
    """Return Confluent's message indexes at an offset, and their end: a count and that number of indexes,
    zigzag varints.

    A count of 0 stands for the first message. None if there are no indexes.
    """
    read = _zigzag(data, start)
    if read is None or not 0 <= read[0] <= _MAX_INDEXES:
        return None
    count, at = read
    indexes: list[int] = []
    for _ in range(count):
        read = _zigzag(data, at)
        if read is None or read[0] < 0:
            return None
        indexes.append(read[0])
        at = read[1]
    return tuple(indexes) or (0,), at


def message_reference(data: bytes) -> tuple[str, int] | None:
    """Return the name of the Protobuf message that Apicurio's serializer writes before it, and where it ends.

    The name is field 1 of a message (`Ref`) after its length. None if there is none.
    """
    head = data[:3]
    if len(head) < 3 or head[1] != _NAME_TAG or head[0] != head[2] + 2 or head[2] >= _ONE_BYTE:
        return None
    end = 3 + head[2]
    name = data[3:end]
    is_name = len(name) == head[2] and name.isascii() and name.decode("ascii").isidentifier()
    return (name.decode("ascii"), end) if is_name else None


def uvarint(data: bytes) -> tuple[int, int] | None:
    """Return the unsigned varint at the beginning of bytes, and its end; None if there is none."""
    value = 0
    for at, byte in enumerate(data[:5]):  # an int has five bytes at most
        value |= (byte & 0x7F) << 7 * at
        if byte < _ONE_BYTE:
            return value, at + 1
    return None


def _zigzag(data: bytes, start: int) -> tuple[int, int] | None:
    value = shift = 0
    for at in range(start, min(start + 5, len(data))):  # an int has five bytes at most
        value |= (data[at] & 0x7F) << shift
        if not data[at] & 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    return None
