"""Looking through all fields of a message."""

from collections.abc import Iterator
from functools import cache

from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type


def all_fields(message: Message) -> Iterator[Field]:
    """Yield every field of a message's structs, in all versions, each struct once."""
    structs = [message.root]
    seen = {id(message.root)}
    for struct in structs:
        for field in struct.fields:
            yield field
            inner = field.type.element if isinstance(field.type, Array) else field.type
            if isinstance(inner, Struct) and id(inner) not in seen:
                seen.add(id(inner))
                structs.append(inner)


@cache
def has_payloads(message: Message) -> bool:
    """Return whether a bytes field of a message holds a payload."""
    return any(field.payload for field in all_fields(message))


@cache
def has_records(message: Message) -> bool:
    """Return whether some version of a message has a records field."""
    return holds_records(message.root)


@cache
def holds_records(of: Type) -> bool:
    """Return whether a type is that of a records field, or has one below it in some version."""
    if isinstance(of, Struct):
        return any(holds_records(field.type) for field in of.fields)
    return holds_records(of.element) if isinstance(of, Array) else of is Primitive.RECORDS


def has_errors(of: Type) -> bool:
    """Return whether a type has error codes in it."""
    if isinstance(of, Struct):
        return any(field.is_error or has_errors(field.type) for field in of.fields)
    return isinstance(of, Array) and has_errors(of.element)
