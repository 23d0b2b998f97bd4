"""One version of a message as plain tuples, for the native readers of bodies (native/src/bodies/plan.rs).
Those are summaries, bodies as text, plain bodies and the way to records.
"""

from collections.abc import Callable
from functools import lru_cache

from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.summary import listed_role
from kdissect.decoders.quirks import has_acks
from kdissect.model.native import native
from kdissect.schema.all_fields import holds_records
from kdissect.schema.types import Array, Field, Message, Primitive, Struct

FieldRow = tuple[str, str, str, bool, bool, int, bytes]
POSITION = "position"
# By the names of Produce, Fetch, ShareFetch and FetchSnapshot.
_PARTITION = frozenset({"index", "partition", "partition_index"})


"""Its name, its kind or that of its elements, its role, whether it is an array, may be null. Then its tag,
and the bytes of its default in that tag (`Layout.default_bytes`).
"""
StructRow = tuple[bool, list[FieldRow], list[FieldRow]]
"""Whether it holds records, its fields in the order of the wire, the fields that may be among its tags."""
RoleOf = Callable[[Message, Struct, Field, Primitive | Struct], str]
"""Returns the role of a struct's field, which has a type or elements of that type."""
NativeLayout = tuple["native.Layout", list[Struct], list[list[Field]]]
"""The library's plan, the structs in its order, and for each the fields without a tag."""

FORGOTTEN = "forgotten_topics_data"
"""The field of Fetch and ShareFetch with topics that leave the session."""
_TOPICS: dict[tuple[Primitive | Struct, str], str] = {
    (Primitive.STRING, "topicName"): "topic",
    (Primitive.UUID, "topicId"): "topic_id",
}


@lru_cache(maxsize=CACHE_SIZE)
def native_layout(message: Message, version: int) -> NativeLayout:
    """Return the layout of a body. Compiled only."""
    rows, structs, fields = layout_rows(Layout(message, version))
    return native.Layout(message.is_flexible(version), rows), structs, fields


@lru_cache(maxsize=CACHE_SIZE)
def named_layout(message: Message, version: int) -> "native.Layout":
    """Return a layout whose summary with groups has all names of resources that a request uses: transactional
    ids have the role of groups, and topics that a fetch session forgets have none. Compiled only.
    """
    rows, _, _ = layout_rows(Layout(message, version), _role_of_name)
    return native.Layout(message.is_flexible(version), rows)


def layout_rows(
    layout: Layout, role_of: RoleOf | None = None
) -> tuple[list[StructRow], list[Struct], list[list[Field]]]:
    """Return the structs of a message, the root first, then in the order of the fields that have them.

    A struct that occurs in two places is listed twice, so that each comes after its parent. `role_of` returns
    the roles of fields instead of the usual roles.
    """
    role_of = role_of or _role
    rows: list[StructRow] = []
    plain: list[list[Field]] = []
    structs = [layout.message.root]
    for of in structs:  # which grows
        fields = layout.plain_fields(of)
        tagged = layout.tagged_fields(of) if layout.flexible else []
        found, behind = ([_row(layout, of, f, structs, role_of) for f in each] for each in (fields, tagged))
        rows.append((holds_records(of), found, behind))
        plain.append(fields)
    return rows, structs, plain


def _row(layout: Layout, of: Struct, field: Field, structs: list[Struct], role_of: RoleOf) -> FieldRow:
    kind = field.type
    is_array = isinstance(kind, Array)
    if isinstance(kind, Array):
        kind = kind.element
    role = role_of(layout.message, of, field, kind)
    if isinstance(kind, Struct):
        structs.append(kind)
    name = "struct" if isinstance(kind, Struct) else kind
    default = layout.default_bytes(field) if layout.is_tagged(field) else b""
    return field.name, name, role, is_array, layout.is_nullable(field), field.tag or 0, default


def _role(message: Message, of: Struct, field: Field, kind: Primitive | Struct) -> str:
    """Return the role of a field for a reader: as `summary` and `records.records_fields` have it."""
    if field.is_error:
        return "error"
    if field.payload is not None:
        return "payload"
    if field.entity is not None and (kind, field.entity) in _TOPICS:
        return _TOPICS[kind, field.entity]
    if field.name == "acks" and of is message.root and has_acks(message):
        return "acks"
    if holds_records(of) and part_of(field) == "partition":
        return "partition"
    return listed_role(message, field) or ""


def _role_of_name(message: Message, of: Struct, field: Field, kind: Primitive | Struct) -> str:
    if kind is Primitive.STRING and field.entity == "transactionalId":
        return "group"
    is_forgotten = any(one.name == FORGOTTEN and one.type == Array(of) for one in message.root.fields)
    return "" if is_forgotten else _role(message, of, field, kind)


# Which fields of a body say where its records are, and whose: `records_fields`, without what it needs.
def part_of(field: Field) -> str | None:
    """Return which part of a records field a field of a fixed width, a text or a blob is."""
    if field.type is Primitive.RECORDS:
        return "records"
    if field.entity == "topicName":
        return "topic"
    if field.type is Primitive.UUID:
        return "topic_id" if field.entity == "topicId" or field.name == "topic_id" else None
    if field.name in _PARTITION:
        return "partition"
    return POSITION if field.name == POSITION else None
