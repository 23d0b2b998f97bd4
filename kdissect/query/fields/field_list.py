"""Every field that a filter can name, for people and for documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kdissect.query.fields.lookup import ENTITIES, look_up
from kdissect.query.fields.record_sources import RECORD_FILTER_FIELDS
from kdissect.query.fields.row_fields import row_fields
from kdissect.query.fields.schema_fields import SIDES, BodyField, all_body_fields
from kdissect.query.values.value_kinds import ValueKind
from kdissect.schema.protocol_messages import api_name

_MAX_APIS = 5  # named in a line, which counts further ones


class FieldInfo(NamedTuple):
    """A field: its name, the kind of its values, what a bare number counts, what it means."""

    name: str
    type: str
    unit: str
    doc: str


def fields(prefix: str = "") -> list[FieldInfo]:
    """Return the fields whose names begin with `prefix`, body fields only for `request.` or `response.`."""
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
        yield _info(name, look_up(name).kinds, entity.doc)
    for field in RECORD_FILTER_FIELDS:
        yield _info(field.name, look_up(field.name).kinds, field.doc)


def _body_fields(side: str, prefix: str) -> list[FieldInfo]:
    by_name: dict[str, list[BodyField]] = {}
    for field in all_body_fields(side):
        if field.name.startswith(prefix):
            by_name.setdefault(field.name, []).append(field)
    return [_body_field(name, group) for name, group in sorted(by_name.items())]


def _body_field(name: str, group: list[BodyField]) -> FieldInfo:
    kinds = tuple(dict.fromkeys(field.kind for field in group))
    owners = [f"{api_name(field.api_key)} {field.field.versions}" for field in group]
    more = f" and {len(owners) - _MAX_APIS} more" if len(owners) > _MAX_APIS else ""
    return _info(name, kinds, f"in {', '.join(owners[:_MAX_APIS])}{more}")


def _info(name: str, kinds: Sequence[ValueKind], doc: str) -> FieldInfo:
    """Return the facts of a field that may be of several kinds."""
    return FieldInfo(name, _either(kind.name for kind in kinds), _either(kind.unit for kind in kinds), doc)


def _either(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(filter(None, words)))
