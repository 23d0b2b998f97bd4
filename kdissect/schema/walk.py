"""Looking through all fields of a message."""

from collections.abc import Iterator
from functools import cache

from kdissect.schema.types import Array, Field, Message, Struct


def all_fields(message: Message) -> Iterator[Field]:
    """Every field of every struct of a message, in all versions, each struct once."""
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
    """Whether a bytes field of a message holds a payload."""
    return any(field.payload for field in all_fields(message))
