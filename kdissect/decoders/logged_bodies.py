"""Bodies in the JSON of Kafka's request log to the bytes of their version.

The broker writes them with the generated `*JsonConverter` classes (KIP-673). Field names depend on the
broker's release, so names of older releases are mapped to the schema's. Tagged fields at their default are
left out. Records are not in the log: a records field holds `placeholder` of their size instead, which
`placeholder_size` reads.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from functools import lru_cache
from struct import Struct as Packed
from types import NoneType
from typing import Any

from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.model.native import native
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

# Names of fields in earlier releases (in lower case), and the names that they have in the schema. A name is
# looked up here only if no field of the struct has it.
_RENAMED = {
    "partition": ("partitionindex",),  # FetchResponse, 2.8
    "partitionresponses": ("partitions",),
    "zkversion": ("partitionepoch",),  # LeaderAndIsr, 2.8
    "transactionalid": ("v3andbelowtransactionalid",),  # AddPartitionsToTxn up to 3.4, and the next ones
    "producerid": ("v3andbelowproducerid",),
    "producerepoch": ("v3andbelowproducerepoch",),
    "topics": ("v3andbelowtopics",),
    "name": ("topicname", "resourcename"),  # AlterIsr, 2.8; ListClientMetricsResources up to 4.0
    "currentisrversion": ("partitionepoch",),  # AlterIsr
    "clientmetricsresources": ("configresources",),
    "results": ("resultsbytopicv3andbelow", "resultsbypartition"),
    "errorcode": ("partitionerrorcode",),
    "generationid": ("generationidormemberepoch",),  # OffsetCommit up to 3.4, TxnOffsetCommit up to 4.2
    "partitionindex": ("partitions",),  # DescribeLogDirs, 2.8
    "partitionid": ("partitions",),  # ElectLeaders, 2.8
    "candidateepoch": ("replicaepoch",),  # Vote up to 3.9, and the next ones
    "candidateid": ("replicaid",),
    "candidatedirectoryid": ("replicadirectoryid",),
}
_SIZE_SUFFIX = "sizeinbytes"  # after the name of a records field: `recordsSizeInBytes`
_SIZE = Packed(">q")
_UNKNOWN_SIZE = _SIZE.pack(0)
_LAYOUTS_KEPT = 1024


class UnreadableBodyError(ValueError):
    """A body in a log that has no bytes in its version. The message names the path."""


def placeholder(size: int) -> bytes | None:
    """Return the content of a records field that stands for `size` bytes of records; None, for null,
    below 0. Raises OverflowError for a size of more than 64 bits.
    """
    return None if size < 0 else size.to_bytes(_SIZE.size, signed=True) if size else b""


def placeholder_size(content: bytes | memoryview) -> int | None:
    """Return the size of the records that a placeholder is in place of; None if the log does not have it."""
    if len(content) != _SIZE.size:
        return 0
    return int(_SIZE.unpack(content)[0]) or None


def logged_body(message: Message, version: int, body: object) -> bytes:
    """Return the bytes of a body. Records whose size is None are there, and their size is not known.

    Raises UnreadableBodyError.
    """
    layout = _layout(message, version)
    try:
        return encode(message, version, _struct(layout, message.root, body, message.name))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise UnreadableBodyError(str(error)) from None


@lru_cache(_LAYOUTS_KEPT)
def _layout(message: Message, version: int) -> Layout:
    return Layout(message, version)


@lru_cache(_LAYOUTS_KEPT)
def native_body(message: Message, version: int) -> native.LoggedBody:
    """Return the native encoder of a body, which leaves unusual ones to `logged_body`. Compiled only."""
    layout = _layout(message, version)
    compiled, structs, _ = native_layout(message, version)
    return native.LoggedBody(compiled, [_numbered(layout, struct) for struct in structs])


def _numbered(layout: Layout, struct: Struct) -> tuple[dict[str, int], int | None, int | None]:
    """Return the numbers of the fields of a struct by all names that they have or had in lower case. Then
    the number of its records field, and of that of acquired records.
    """
    fields = [*layout.plain_fields(struct), *layout.tagged_fields(struct)]
    numbers = {field.official_name.lower(): at for at, field in enumerate(fields)}
    for old, names in _RENAMED.items():
        new = next((name for name in names if name in numbers), None)
        if old not in numbers and new is not None:
            numbers[old] = numbers[new]
    records = next((at for at, field in enumerate(fields) if field.type is Primitive.RECORDS), None)
    acquired = next((at for at, field in enumerate(fields) if field.name == "acquired_records"), None)
    return numbers, records, acquired


@lru_cache(_LAYOUTS_KEPT)
def _fields(layout: Layout, struct: Struct) -> Mapping[str, Field]:
    """Return the fields of a struct in a version by their names in lower case."""
    fields = (*layout.plain_fields(struct), *layout.tagged_fields(struct))
    return {field.official_name.lower(): field for field in fields}


def _struct(layout: Layout, struct: Struct, value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableBodyError(f"{path}: no object")
    fields, made = _fields(layout, struct), {}
    for key, item in value.items():
        name = key.lower()
        field = fields.get(name) or next(
            (fields[new] for new in _RENAMED.get(name, ()) if new in fields), None
        )
        if field is not None:
            made[field.name] = _field(layout, field, item, f"{path}.{field.name}")
            continue
        field = _records_field(fields, name)
        if field is None or type(item) not in (int, NoneType):
            raise UnreadableBodyError(f"{path}: no field {key!r} in version {layout.version}")
        made[field.name] = _UNKNOWN_SIZE if item is None else placeholder(item)
    if made.get("records") == b"" and made.get("acquired_records"):
        made["records"] = _UNKNOWN_SIZE
    for field in layout.plain_fields(struct):
        if field.name not in made:
            raise UnreadableBodyError(f"{path}.{field.name}: missing")
    return made


def _records_field(fields: Mapping[str, Field], name: str) -> Field | None:
    if not name.endswith(_SIZE_SUFFIX):
        return None
    return next((field for field in fields.values() if field.type is Primitive.RECORDS), None)


def _field(layout: Layout, field: Field, value: object, path: str) -> Any:
    if value is None:
        return None
    return _item(layout, field.type, value, path)


def _item(layout: Layout, kind: Type, value: object, path: str) -> Any:
    if isinstance(kind, Struct):
        return _struct(layout, kind, value, path)
    if isinstance(kind, Array):
        if not isinstance(value, list):
            raise UnreadableBodyError(f"{path}: no array")
        element = kind.element
        return [_item(layout, element, item, f"{path}[{index}]") for index, item in enumerate(value)]
    if kind is Primitive.RECORDS:
        return _lost_records(value, path)
    if kind is Primitive.BYTES or kind is Primitive.UUID:
        return _bytes(kind, value, path)
    if type(value) not in _TYPES.get(kind, _INT):
        raise UnreadableBodyError(f"{path}: {type(value).__name__} is no {kind}")
    return value


_INT = (int,)
_TYPES = {Primitive.BOOL: (bool,), Primitive.STRING: (str,), Primitive.FLOAT64: (int, float)}


def _bytes(kind: Primitive, text: object, path: str) -> bytes:
    """Base64: of uuids without padding, and with `-` and `_` (org.apache.kafka.common.Uuid#toString)."""
    if not isinstance(text, str):
        raise UnreadableBodyError(f"{path}: {type(text).__name__} is no {kind}")
    try:
        if kind is Primitive.BYTES:
            return a2b_base64(text, strict_mode=True)
        raw = a2b_base64(text.replace("-", "+").replace("_", "/") + "==", strict_mode=True)
    except (Base64Error, ValueError) as error:
        raise UnreadableBodyError(f"{path}: {error}") from None
    if len(raw) != 16:  # bytes of a uuid
        raise UnreadableBodyError(f"{path}: no uuid")
    return raw


def _lost_records(value: object, path: str) -> bytes:
    """Return the records of a ShareFetch, whose size is lost."""
    if value != "":
        raise UnreadableBodyError(f"{path}: records in the log")
    return b""
