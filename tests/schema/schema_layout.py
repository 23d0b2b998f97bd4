"""What the oracles compare: a body's layout as plain tuples, from our schema and from others' definitions.

A layout says what decides the bytes: the order of fields, their types, what may be null, tags. Names and
defaults stand beside it for the oracles that have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kdissect.schema.field_tokens import parse_versions
from kdissect.schema.protocol_messages import is_never_compact
from kdissect.schema.types import Array, Field, Message, Struct, Versions


class Entry(NamedTuple):
    """One field in one version. `default` is typed as kdissect.schema.types.Field has it."""

    name: str
    type: str  # `int32`, `[]string`, `struct`, `[]struct`
    nullable: bool
    tag: int | None
    compact: bool
    default: object
    fields: Layout


Layout = tuple[Entry, ...]  # untagged fields in the order of the wire, then tagged ones by tag

_CAN_BE_COMPACT = ("string", "bytes", "records", "[]")
_ZEROS: dict[str, object] = {
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
    "records": None,
    "struct": None,
}


def versions_of(message: Message) -> range:
    return range(message.versions.first, message.versions.last + 1)


def layout(message: Message, version: int) -> Layout:
    """Our own layout of one version."""
    return _struct_layout(message, message.root, version)


def _struct_layout(message: Message, struct: Struct, version: int) -> Layout:
    return _ordered(_entry(message, field, version) for field in struct.fields if version in field.versions)


def _entry(message: Message, field: Field, version: int) -> Entry:
    is_array = isinstance(field.type, Array)
    element = field.type.element if isinstance(field.type, Array) else field.type
    name = "struct" if isinstance(element, Struct) else element.value
    flexible = message.is_flexible(version) and not is_never_compact(message, field)
    return Entry(
        name=field.official_name,
        type="[]" * is_array + name,
        nullable=version in field.nullable,
        tag=field.tag if flexible and version in field.tagged else None,
        compact=flexible and ("[]" * is_array + name).startswith(_CAN_BE_COMPACT),
        default=field.default,
        fields=_struct_layout(message, element, version) if isinstance(element, Struct) else (),
    )


def _ordered(entries: Iterator[Entry]) -> Layout:
    found = list(entries)
    untagged = [entry for entry in found if entry.tag is None]
    return (*untagged, *sorted((e for e in found if e.tag is not None), key=lambda e: e.tag or 0))


# Apache's JSON form, as the reference material and kafka-python have it


def json_layout(document: Mapping[str, Any], version: int) -> Layout:
    """Return the layout of one version of a message definition in Apache's JSON form."""
    structs = {struct["name"]: struct["fields"] for struct in document.get("commonStructs", [])}
    flexible = version in parse_versions(document["flexibleVersions"])
    return _json_fields(document["fields"], version, flexible, structs)


def _json_fields(
    fields: Sequence[Mapping[str, Any]], version: int, flexible: bool, structs: Mapping[str, Any]
) -> Layout:
    here = (field for field in fields if version in _range(field, "versions", "taggedVersions"))
    return _ordered(_json_entry(field, version, flexible, structs) for field in here)


def _range(field: Mapping[str, Any], *keys: str) -> Versions:
    """Return the range under the first of these keys that is there."""
    found = next((field[key] for key in keys if key in field), "none")
    return parse_versions(str(found))


def _json_entry(field: Mapping[str, Any], version: int, flexible: bool, structs: Mapping[str, Any]) -> Entry:
    written = field["type"]
    element = written.removeprefix("[]")
    is_struct = element[0].isupper()
    type_ = written.replace(element, "struct") if is_struct else written
    if "flexibleVersions" in field:
        flexible = version in _range(field, "flexibleVersions")
    sub_fields = field.get("fields") or structs.get(element, ())
    return Entry(
        name=field["name"],
        type=type_,
        nullable=version in _range(field, "nullableVersions"),
        tag=field["tag"] if flexible and version in _range(field, "taggedVersions") else None,
        compact=flexible and type_.startswith(_CAN_BE_COMPACT),
        default=_json_default(type_, field.get("default")),
        fields=_json_fields(sub_fields, version, flexible, structs) if is_struct else (),
    )


def _json_default(type_: str, written: object) -> object:
    if written in ("null", None):
        return None if written == "null" else _zero(type_)
    if type_ == "bool":
        return str(written).lower() == "true"
    if type_ == "string":
        return str(written)
    return float(str(written)) if type_ == "float64" else int(str(written), 0)


def _zero(type_: str) -> object:
    return () if type_.startswith("[]") else _ZEROS.get(type_, 0)


# Comparing


def wire(layout: Layout) -> Layout:
    """Return the layout without names and defaults, which do not change the bytes."""
    return tuple(entry._replace(name="", default=None, fields=wire(entry.fields)) for entry in layout)


def differences(ours: Layout, theirs: Layout, path: str = "") -> Iterator[str]:
    """Yield where two layouts differ, each as `path: ours x, theirs y`; nothing if they are equal."""
    if len(ours) != len(theirs):
        yield f"{path or '.'}: fields {[e.name for e in ours]} against {[e.name for e in theirs]}"
        return
    for mine, other in zip(ours, theirs, strict=True):
        here = f"{path}.{mine.name or other.name}"
        for attribute in ("name", "type", "nullable", "tag", "compact", "default"):
            left, right = getattr(mine, attribute), getattr(other, attribute)
            if left != right:
                yield f"{here}: {attribute} {left!r} against {right!r}"
        yield from differences(mine.fields, other.fields, here)


# Signatures: the bytes alone, for definitions that know neither null nor tags nor which structs are nested

TAGS = "tags"
Signature = tuple[Any, ...]  # of `int32`, `string`, `compact string`, TAGS, and ("[]", Signature)


def signature(layout: Layout, flexible: bool, nullable: bool = False) -> Signature:
    """Return what is on the wire in order: structs dissolved into their fields, records as bytes, tags as
    TAGS.

    With `nullable`, strings and bytes say whether they may be null, as the protocol guide's grammars do.
    """
    parts: list[Any] = []
    for entry in layout:
        if entry.tag is None:
            parts += _parts(entry, flexible, nullable)
    return (*parts, TAGS) if flexible else tuple(parts)


def _parts(entry: Entry, flexible: bool, nullable: bool) -> Signature:
    element = entry.type.removeprefix("[]")
    compact = "compact " if entry.compact else ""
    if element == "struct":
        inner = signature(entry.fields, flexible, nullable)
    elif element == entry.type:
        null = "nullable " if nullable and entry.nullable else ""
        return (null + compact + element.replace("records", "bytes"),)
    else:
        # A definition of a flexible version gives the elements of a primitive array the array's own form.
        inner = ("compact string" if entry.compact and element == "string" else element,)
    return ((f"{compact}[]", inner),) if entry.type != element else inner
