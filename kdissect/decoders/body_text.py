"""Bodies as JSON text, compiled: what orjson makes of the dicts of `nested_json`.

The compiled reader runs a program, one for each version of a message, that is made here of the same `Layout`
as all decoders are. It says nothing about bodies that do not fit, are not UTF-8 where they should be, hold
payloads or floats, or have tags out of order; `nested_json` and what stands behind it do.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Protocol

from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.layout import Layout
from kdissect.decoders.nested_json import foreign_start, plain_body
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.json_batches import inflated
from kdissect.decoders.records.plain_records import PLAIN_BYTES, PLAIN_RECORDS
from kdissect.decoders.records.sections import part_of
from kdissect.model.native import native
from kdissect.schema.logs import all_logs
from kdissect.schema.types import Array, Field, Primitive, Struct
from kdissect.schema.walk import all_fields, holds_records

Row = tuple[bytes, str, bool, bool, int, int]
"""Text before a value, its kind, whether its length is compact, whether it may be null, its tag if it stands
among tags, and how many of the rows behind belong to it.
"""


class Nest(Protocol):
    """What records are told by: raises ValueError where the general path must be taken."""

    def name(self, topic_id: bytes) -> str | None:
        """The topic of an id, None if nobody knows."""

    def unusual(self, data: bytes, start: int, end: int, topic: str | None) -> bytes:
        """The text of a records field with batches that are not plain, or of one of Kafka's own topics."""


class BodyText(Protocol):
    """Bodies of one version of a message."""

    def text(self, data: bytes, offset: int, nest: Nest | None) -> bytes | None:
        """The body from `offset` to the end as JSON, None where it is not plain.

        Without `nest` records are but counted. Raises what `nest` does beside ValueError.
        """


@lru_cache(maxsize=CACHE_SIZE)
def body_text(api_key: int, api_version: int, is_response: bool) -> BodyText | None:
    """The program of a body; None where nothing is compiled, for floats, and for what is no `plain_body`."""
    message = plain_body(api_key, api_version, is_response)
    if native is None or message is None:
        return None
    if any(field.type is Primitive.FLOAT64 for field in all_fields(message)):
        return None
    rows = list(_fields(Layout(message, api_version), message.root))
    made: BodyText = native.BodyText(rows, _batches(), foreign_start(api_key, is_response))
    return made


@cache
def _batches() -> Any:
    own = [log.name.encode() for log in all_logs()]
    return native.BatchText(crc32c, inflated, own, PLAIN_BYTES, PLAIN_RECORDS)


def _fields(layout: Layout, of: Struct) -> Iterator[Row]:
    """The rows of a struct's fields, and of the end of its tags."""
    comma = ""
    for field in layout.plain_fields(of):
        yield from _field(layout, of, field, comma)
        comma = ","
    if layout.flexible:
        tagged = [row for field in layout.tagged_fields(of) for row in _field(layout, of, field, "")]
        yield b"", "tags", False, False, 0, len(tagged)
        yield from tagged


def _field(layout: Layout, around: Struct, field: Field, comma: str) -> Iterator[Row]:
    kind, nullable = field.type, layout.is_nullable(field)
    text, tag = f'{comma}"{field.name}":'.encode(), field.tag or 0
    if isinstance(kind, Primitive):
        compact = layout.is_compact(field) if kind is Primitive.STRING else layout.flexible
        yield text, _name(around, field, kind), compact, nullable, tag, 0
        return
    inner = list(_element(layout, kind.element) if isinstance(kind, Array) else _fields(layout, kind))
    name = "array" if isinstance(kind, Array) else "struct"
    if nullable and isinstance(kind, Struct) and layout.is_tagged(field):
        name = "tagged_struct"
    yield text, name, layout.flexible, nullable, tag, len(inner)
    yield from inner


def _name(around: Struct, field: Field, kind: Primitive) -> str:
    """The kind of a field as rows have it; those that say whose records there are have their own."""
    if field.payload is not None:
        return "payload"
    part = part_of(field) if holds_records(around) else None
    return part if part in ("topic", "topic_id") else str(kind)


def _element(layout: Layout, of: Primitive | Struct) -> Iterator[Row]:
    """The rows of an array's element, which is never null."""
    inner = list(_fields(layout, of)) if isinstance(of, Struct) else []
    yield b"", "struct" if isinstance(of, Struct) else str(of), layout.flexible, False, 0, len(inner)
    yield from inner
