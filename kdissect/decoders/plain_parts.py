"""One version of a message in rows, as the compiled decoder of plain bodies takes it (`decoders.plain`).

A struct is (class, whether tags end it, fields), a field (attribute, part of a section or None, kind). Kinds:
a `struct` format character with what is plain (None: all, True: no negative ones, a set: these; of ids: none
of these); `string`, `bytes` and `records` with whether the length is compact and null allowed; `list` with
the same, the fewest bytes of an element, and its kind (`never`: none is plain); `struct` with the struct.
"""

from sys import intern
from typing import Any

from kdissect.decoders.layout import FIXED, Layout
from kdissect.decoders.plain_values import NEVER_NEGATIVE, SPECIAL_IDS, enumerated, known_codes
from kdissect.decoders.records.sections import has_pieces, part_of
from kdissect.decoders.values import value_class
from kdissect.schema.types import Array, Field, Primitive, Struct
from kdissect.schema.walk import holds_records

Kind = tuple[Any, ...]
_SECTION_PARTS = ("topic", "topic_id", "partition")


class _UnknownError(Exception):
    """Something the library does not do."""


def plain_parts(layout: Layout) -> Kind | None:
    """The rows of one version of a message without nullable structs; None where the library cannot read it:
    pieces of snapshots, arrays of booleans.
    """
    if has_pieces(layout.message):
        return None
    try:
        return _struct(layout, layout.message.root)
    except _UnknownError:
        return None


def _struct(layout: Layout, of: Struct) -> Kind:
    holds = holds_records(of)
    fields = [
        # Interned names are found by identity, once a value: those of the schema were read from a file.
        (intern(field.name), _part(field) if holds else None, _kind(layout, field))
        for field in layout.plain_fields(of)
    ]
    return value_class(layout.message, of), layout.flexible, fields


def _part(field: Field) -> int | None:
    """Which part of a section a field tells."""
    part = None if isinstance(field.type, Array | Struct) else part_of(field)
    return _SECTION_PARTS.index(part) if part in _SECTION_PARTS else None


def _kind(layout: Layout, field: Field) -> Kind:
    kind, nullable = field.type, layout.is_nullable(field)
    if isinstance(kind, Array):
        return _list(layout, field, kind.element, nullable)
    if isinstance(kind, Struct):
        return "struct", _struct(layout, kind)
    if kind in FIXED:
        return FIXED[kind][0], _plain(field)
    if kind is Primitive.STRING:
        return "string", layout.is_compact(field), nullable
    return "records" if kind is Primitive.RECORDS else "bytes", layout.flexible, nullable


def _plain(field: Field) -> object:
    """What is plain of a value of fixed width."""
    if field.type is Primitive.UUID:
        return SPECIAL_IDS if field.entity == "topicId" else None
    known = known_codes(field)
    if known is not None:
        return known
    return True if field.name in NEVER_NEGATIVE else None


def _list(layout: Layout, field: Field, element: Primitive | Struct, nullable: bool) -> Kind:
    inner: Kind
    if isinstance(element, Struct):
        inner = "struct", _struct(layout, element)
    elif element in FIXED:
        inner = _number(field, element)
    else:
        inner = "string" if element is Primitive.STRING else "bytes", layout.flexible, False
    return "list", layout.flexible, nullable, layout.min_element(element), inner


def _number(field: Field, element: Primitive) -> Kind:
    if element is Primitive.UUID or enumerated(field) is not None:
        return ("never",)
    if element is Primitive.BOOL:
        raise _UnknownError
    return FIXED[element][0], True if field.name in NEVER_NEGATIVE else None
