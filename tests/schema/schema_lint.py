"""Rules that a well-formed schema text can still break: the parser checks form, this checks sense.

Each rule is a generator of problems, `Message.Field: what is wrong`; docs/schema.md lists them with reasons.
Tests run them over the whole tree; nothing at run time does.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kdissect.schema import enums, protocol_messages, releases
from kdissect.schema.types import (
    NO_UPPER_BOUND,
    NO_VERSIONS,
    Api,
    Array,
    Field,
    Message,
    Primitive,
    Struct,
    Type,
    Versions,
)

_CAN_BE_NULL = frozenset({Primitive.STRING, Primitive.BYTES, Primitive.RECORDS})
_RANGES: dict[Primitive, tuple[int, int]] = {
    Primitive.INT8: (-(2**7), 2**7 - 1),
    Primitive.INT16: (-(2**15), 2**15 - 1),
    Primitive.UINT16: (0, 2**16 - 1),
    Primitive.INT32: (-(2**31), 2**31 - 1),
    Primitive.UINT32: (0, 2**32 - 1),
    Primitive.INT64: (-(2**63), 2**63 - 1),
}


class _Place(NamedTuple):
    """A field where it is used: a shared struct's fields have one place for each use."""

    path: str
    field: Field
    parent: Versions  # where the struct around it can be on the wire


def lint_messages(messages: Iterable[Message]) -> list[str]:
    """Return every problem of these messages, each as `Message.path.to.Field: why`; an empty list
    is clean.
    """
    return [problem for message in messages for problem in _lint_message(message)]


def lint_apis(apis: Iterable[Api]) -> list[str]:
    """Return problems between a request and its response, and between an API and `releases.table`."""
    return [problem for api in apis for problem in _lint_api(api)]


def lint_tree() -> list[str]:
    """Return every problem of the schema that ships with kdissect."""
    apis = protocol_messages.all_apis()
    headers = [
        protocol_messages.header_message("RequestHeader"),
        protocol_messages.header_message("ResponseHeader"),
    ]
    messages = [message for api in apis for message in (api.request, api.response)]
    return lint_messages([*messages, *headers, *protocol_messages.all_payloads()]) + lint_apis(apis)


def _lint_message(message: Message) -> Iterator[str]:
    yield from _message_ranges(message)
    for struct, path in _structs(message):
        yield from _duplicate_names(struct, path)
        yield from _tag_numbers(struct, path)
    for place in _places(message):
        for rule in _FIELD_RULES:
            for why in rule(message, place):
                yield f"{place.path}: {why}"


# Walking


def _element(type_: Type) -> Primitive | Struct:
    return type_.element if isinstance(type_, Array) else type_


def _structs(message: Message) -> list[tuple[Struct, str]]:
    """Return each struct of a message once, with the path of its first use."""
    found = [(message.root, message.name)]
    seen = {id(message.root)}
    for struct, path in found:
        for field in struct.fields:
            element = _element(field.type)
            if isinstance(element, Struct) and id(element) not in seen:
                seen.add(id(element))
                found.append((element, f"{path}.{field.official_name}"))
    return found


def _places(message: Message) -> Iterator[_Place]:
    """Yield each field of each struct once, with the versions in which any use of the struct is on
    the wire.
    """
    uses = _uses(message)
    for struct, path in _structs(message):
        for field in struct.fields:
            yield _Place(f"{path}.{field.official_name}", field, uses[id(struct)])


def _uses(message: Message) -> dict[int, Versions]:
    """id of a struct -> the smallest range around the versions of all its uses."""
    uses = {id(message.root): Versions(message.versions.first, NO_UPPER_BOUND)}
    for struct, _ in _structs(message):
        for field in struct.fields:
            element = _element(field.type)
            if isinstance(element, Struct):
                known = uses.get(id(element), field.versions)
                uses[id(element)] = _around(known, field.versions)
    return uses


def _around(left: Versions, right: Versions) -> Versions:
    return Versions(min(left.first, right.first), max(left.last, right.last))


def _inside(inner: Versions, outer: Versions) -> bool:
    return inner.first > inner.last or (outer.first <= inner.first and inner.last <= outer.last)


def _overlap(left: Versions, right: Versions) -> bool:
    return max(left.first, right.first) <= min(left.last, right.last)


# Rules for messages and structs


def _message_ranges(message: Message) -> Iterator[str]:
    versions, flexible = message.versions, message.flexible
    if versions.first > versions.last or versions.last == NO_UPPER_BOUND:
        yield f"{message.name}: a message's versions are a closed range, not {versions}"
    if flexible != NO_VERSIONS and not (flexible.last == NO_UPPER_BOUND and flexible.first in versions):
        # Once flexible, always flexible (KIP-482): a later version cannot go back to plain lengths.
        yield f"{message.name}: flexible {flexible} neither 'none' nor open from one of {versions}"


def _duplicate_names(struct: Struct, path: str) -> Iterator[str]:
    seen: dict[str, str] = {}
    for field in struct.fields:
        other = seen.setdefault(field.name, field.official_name)
        if other != field.official_name:
            yield f"{path}: {other} and {field.official_name} are both {field.name} in output"
    names = [field.official_name for field in struct.fields]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{path}: two fields are called {name}"


def _tag_numbers(struct: Struct, path: str) -> Iterator[str]:
    # A tag number is never used again, so a struct's tags are 0..n over all its versions (KIP-482).
    tags = [field.tag for field in struct.fields if field.tag is not None]
    for tag in sorted({tag for tag in tags if tags.count(tag) > 1}):
        yield f"{path}: two fields have tag {tag}"
    if sorted(set(tags)) != list(range(len(set(tags)))):
        yield f"{path}: tags {sorted(set(tags))} do not count from 0"


# Rules for fields


def _field_ranges(message: Message, place: _Place) -> Iterator[str]:
    versions = place.field.versions
    if versions.first > versions.last:
        yield f"in no version ({versions})"
    elif not _overlap(versions, message.versions):
        yield f"versions {versions} lie outside of the message's {message.versions}"
    elif not _inside(versions, place.parent):
        yield f"versions {versions} reach outside of the {place.parent} of the struct around it"
    elif versions.last != NO_UPPER_BOUND and versions.last > message.versions.last:
        yield f"versions {versions} reach outside of the message's {message.versions}"


def _nullable(_: Message, place: _Place) -> Iterator[str]:
    field = place.field
    if field.nullable == NO_VERSIONS:
        return
    if not _inside(field.nullable, field.versions):
        yield f"null in {field.nullable}, but on the wire in {field.versions}"
    if isinstance(field.type, Primitive) and field.type not in _CAN_BE_NULL:
        yield f"{field.type} cannot be null"


def _tagged(message: Message, place: _Place) -> Iterator[str]:
    field = place.field
    if field.tag is None:
        return
    if field.tagged == NO_VERSIONS or not _inside(field.tagged, field.versions):
        yield f"tagged in {field.tagged}, but on the wire in {field.versions}"
    elif not _inside(field.tagged, message.flexible):
        yield f"tagged in {field.tagged}, but flexible in {message.flexible}"


def _default(_: Message, place: _Place) -> Iterator[str]:
    field = place.field
    if isinstance(field.type, Primitive) and field.type in _RANGES and isinstance(field.default, int):
        low, high = _RANGES[field.type]
        if not low <= field.default <= high:
            yield f"the default {field.default} does not fit {field.type}"
    nullable_by_default = field.default is None and not isinstance(field.type, Struct)
    if nullable_by_default and field.type is not Primitive.RECORDS and field.nullable == NO_VERSIONS:
        yield "the default is null, but the field is never null"


def _annotations(_: Message, place: _Place) -> Iterator[str]:
    field = place.field
    element = _element(field.type)
    if field.is_error and element is not Primitive.INT16:
        yield "an error code is an int16 (org.apache.kafka.common.protocol.Errors)"
    if isinstance(element, Struct) and (field.entity or field.enum or field.is_secret):
        yield "an annotation describes a value, not a struct"
    if field.enum:
        yield from _enum(field.enum, element)
    if field.payload and field.type is not Primitive.BYTES:
        yield "only a bytes field holds a payload"
    if field.is_config_value and field.type is not Primitive.STRING:
        yield "the value of a config is a string"


def _enum(name: str, element: Primitive | Struct) -> Iterator[str]:
    enumeration = enums.enumeration(name)
    if enumeration is None:
        yield f"there is no enum {name}"
    elif any(isinstance(key, str) != (element is Primitive.STRING) for key in enumeration.values):
        yield f"the values of enum {name} do not fit {element}"


_FIELD_RULES: tuple[Callable[[Message, _Place], Iterator[str]], ...] = (
    _field_ranges,
    _nullable,
    _tagged,
    _default,
    _annotations,
)


# Rules for APIs


def _lint_api(api: Api) -> Iterator[str]:
    request, response = api.request, api.response
    if request.api_key != api.key or response.api_key != api.key:
        yield f"{api.name}: keys {request.api_key} and {response.api_key} in the file of key {api.key}"
    if (request.name, response.name) != (f"{api.name}Request", f"{api.name}Response"):
        yield f"{api.name}: holds {request.name} and {response.name}"
    if api.name != protocol_messages.api_name(api.key):
        yield f"{api.name}: its file is called {protocol_messages.api_name(api.key)}"
    if request.versions != response.versions or request.flexible != response.flexible:
        yield f"{api.name}: request and response differ in their versions"
    yield from _history(api)


def _history(api: Api) -> Iterator[str]:
    history = releases.history(api.key)
    if history is None:
        yield f"{api.name}: not in {releases.TABLE}"
        return
    if history.name != api.name:
        yield f"{api.name}: called {history.name} in {releases.TABLE}"
    if list(history.since) != list(range(api.versions.first, api.versions.last + 1)):
        yield f"{api.name}: {releases.TABLE} knows other versions than {api.versions}"
    if not _inside(history.gone, api.versions) or not _inside(history.unstable, api.versions):
        yield f"{api.name}: {releases.TABLE} drops versions that never were"
