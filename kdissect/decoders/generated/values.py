"""Decoded values: one slotted object type per struct, for all versions.

A field that is not on the wire in the version decoded is an unset slot: absent is not null. Reading it raises
AttributeError. Tagged fields that were not sent stay unset, too. Tags that the schema does not know are in
`_tags`.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from kdissect.model.wording import plural
from kdissect.schema import protocol_messages
from kdissect.schema.secrets import MASK, has_config_values, is_secret, is_sensitive
from kdissect.schema.types import Array, Field, Message, Struct, Type

Bytes = bytes | memoryview


class CutRecords(bytes):
    """Records of which not all bytes are there; `size` is how many there should be, None if not known."""

    size: int | None


class Value:
    """Base of all decoded structs.

    Strings are `str`, or `bytes` if they were not UTF-8. `uuid` is 16 raw bytes, and `bytes` fields are
    `bytes`. Records are a `memoryview` of the frame (compares equal to bytes; pickling turns it into bytes).
    """

    __slots__ = ("_tags",)
    struct_fields: ClassVar[tuple[Field, ...]] = ()
    message_name: ClassVar[str] = ""
    __hash__: ClassVar[None]  # type: ignore[assignment]

    _tags: dict[int, bytes]

    def __getattr__(self, name: str) -> Any:
        # Reached only when the slot is unset or does not exist.
        if name == "_tags":
            return {}
        raise AbsentFieldError(type(self), name)

    def keep_tag(self, tag: int, content: bytes) -> None:
        """Add a tag the schema does not know."""
        tags = self._tags  # a new dict while the slot is unset
        tags[tag] = content
        self._tags = tags

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return dict(items(self)) == dict(items(other)) and self._tags == other._tags

    def __repr__(self) -> str:
        sensitive = holds_password(self)
        shown = [f"{name}={_shown(field, value, sensitive)}" for field, name, value in present(self)]
        if self._tags:
            sizes = ", ".join(
                f"{tag}: <{plural(len(content), 'byte')}>" for tag, content in self._tags.items()
            )
            shown.append(f"_tags={{{sizes}}}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: _owned(value) for name, value in items(self)}
        return _restore, (self.message_name, type(self).__name__, state, self._tags)


class AbsentFieldError(AttributeError):
    """A slot that is unset, or none at all; `args` are the type and the name.

    Its text is built only on access: `getattr` with a default and `hasattr` drop it.
    """

    def __str__(self) -> str:
        kind, name = self.args
        if any(field.name == name for field in kind.struct_fields):
            return (
                f"{kind.__name__}.{name} is not on the wire here: not part of this version, or a tag not sent"
            )
        return f"{kind.__name__} of {kind.message_name} has no field {name!r}"


def items(value: Value) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the fields that were on the wire, in the schema's order, `_tags` left out."""
    for _, name, item in present(value):
        yield name, item


def present(value: Value) -> Iterator[tuple[Field, str, Any]]:
    """Yield fields that were on the wire, with name and value, in the schema's order."""
    for field in value.struct_fields:
        try:
            item = object.__getattribute__(value, field.name)
        except AttributeError:
            continue
        yield field, field.name, item


def structs(value: Value, at: str = "") -> Iterator[tuple[str, Value]]:
    """Yield a struct and all below it, each with the path before its fields (`topics[2].`)."""
    yield at, value
    for name, item in items(value):
        if isinstance(item, Value):
            yield from structs(item, f"{at}{name}.")
        elif isinstance(item, list | tuple):
            for index, element in enumerate(item):
                if isinstance(element, Value):
                    yield from structs(element, f"{at}{name}[{index}].")


def sent(value: Any, name: str, default: Any = None) -> Any:
    """Return a field's value, or `default` where it was not on the wire, or `value` is None.

    Does the same as `getattr` with a default, in a tenth of the time if the field is unset, because it builds
    no message.
    """
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


def holds_password(value: Value) -> bool:
    """Return whether a value is a config that is a password."""
    return has_config_values(value.struct_fields) and is_sensitive(dict(items(value)))


def _shown(field: Field, value: Any, sensitive: bool) -> str:
    if value is not None and (
        is_secret(field, sensitive) or (sensitive and isinstance(value, list))  # a password's synonyms
    ):
        return MASK
    return f"<{plural(len(value), 'byte')}>" if isinstance(value, memoryview) else repr(value)


def _owned(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


_classes: dict[Struct, type[Value]] = {}


def value_class(message: Message, struct: Struct) -> type[Value]:
    """Return the object type of a struct of `message`, always the same type."""
    known = _classes.get(struct)
    if known is None:
        known = _classes[struct] = _make_class(message, struct)
    return known


def _make_class(message: Message, struct: Struct) -> type[Value]:
    distinct = {field.name: field for field in struct.fields}
    body = {
        "__slots__": tuple(distinct),
        "__doc__": f"Struct {struct.name} of {message.name}.",
        "__module__": __name__,
        "struct_fields": tuple(distinct.values()),
        "message_name": message.name,
    }
    return type(struct.name, (Value,), body)


def _restore(message_name: str, struct_name: str, state: dict[str, Any], tags: dict[int, bytes]) -> Value:
    """Rebuild a pickled value."""
    message = _message_named(message_name)
    struct = next(s for s in _structs(message.root) if s.name == struct_name)
    value = value_class(message, struct)()
    for name, item in state.items():
        setattr(value, name, item)
    for tag, content in tags.items():
        value.keep_tag(tag, content)
    return value


def _message_named(name: str) -> Message:
    api = protocol_messages.api_by_name(name)
    if api is not None:
        return api.request if api.request.name == name else api.response
    return (
        protocol_messages.header_message(name) if name.endswith("Header") else protocol_messages.payload(name)
    )


def _structs(of: Type) -> Iterator[Struct]:
    if isinstance(of, Array):
        yield from _structs(of.element)
    elif isinstance(of, Struct):
        yield of
        for field in of.fields:
            yield from _structs(field.type)
