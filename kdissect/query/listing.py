"""Every field that a filter can name, for people and for documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kdissect.query.kinds import Kind
from kdissect.query.lookup import ENTITIES, look_up
from kdissect.query.row_fields import row_fields
from kdissect.query.schema_fields import SIDES, BodyField, all_body_fields
from kdissect.schema.protocol_messages import api_name

MAX_APIS = 5  # named in a line; the others are counted


class FieldInfo(NamedTuple):
    """A field: its name, the kind of its values, what a bare number counts, what it means."""

    name: str
    type: str
    unit: str
    doc: str


def fields(prefix: str = "") -> list[FieldInfo]:
    """The fields whose names begin with `prefix`; those of bodies only for `request.` or `response.`."""
    found = [info for info in _others() if info.name.startswith(prefix)]
    side, dot, _ = prefix.partition(".")
    if side in SIDES and dot:
        found += _body_fields(side, prefix)
    return found


def _others() -> Iterator[FieldInfo]:
    for name, entry in row_fields().items():
        doc = f"short for `{entry.alias_of}`" if entry.alias_of else entry.doc
        yield FieldInfo(name, entry.kind.name, entry.kind.unit, doc)
    for name, entity in ENTITIES.items():
        kinds = look_up(name).kinds
        yield FieldInfo(name, _types(kinds), kinds[0].unit, entity.doc)


def _body_fields(side: str, prefix: str) -> list[FieldInfo]:
    by_name: dict[str, list[BodyField]] = {}
    for field in all_body_fields(side):
        if field.name.startswith(prefix):
            by_name.setdefault(field.name, []).append(field)
    return [_body_field(name, group) for name, group in sorted(by_name.items())]


def _body_field(name: str, group: list[BodyField]) -> FieldInfo:
    kinds = tuple(dict.fromkeys(field.kind for field in group))
    owners = [f"{api_name(field.api_key)} {field.field.versions}" for field in group]
    more = f" and {len(owners) - MAX_APIS} more" if len(owners) > MAX_APIS else ""
    return FieldInfo(name, _types(kinds), kinds[0].unit, f"in {', '.join(owners[:MAX_APIS])}{more}")


def _types(kinds: tuple[Kind, ...]) -> str:
    return " or ".join(dict.fromkeys(kind.name for kind in kinds))
