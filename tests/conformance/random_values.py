"""Random bodies, as plain dicts, from the schema alone: no decoder and no encoder is used."""

import random
from collections.abc import Iterator
from typing import Any

from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

_INTEGERS = {
    Primitive.INT8: (-(2**7), 2**7 - 1),
    Primitive.INT16: (-(2**15), 2**15 - 1),
    Primitive.UINT16: (0, 2**16 - 1),
    Primitive.INT32: (-(2**31), 2**31 - 1),
    Primitive.UINT32: (0, 2**32 - 1),
    Primitive.INT64: (-(2**63), 2**63 - 1),
}
_LETTERS = 'abcXYZ019.-_ "\\\n\x1b\u00e9\u4e2d\U0001f600'
FIRST_UNKNOWN_TAG = 100


def all_bodies() -> Iterator[tuple[Message, int]]:
    """Yield every request and response at every version."""
    for api in protocol_messages.all_apis():
        for message in (api.request, api.response):
            for version in range(message.versions.first, message.versions.last + 1):
                yield message, version


class ValueMaker:
    """Makes values; the same seed makes the same values."""

    def __init__(
        self, message: Message, version: int, seed: int, *, most: int = 3, unknown_tags: bool = True
    ) -> None:
        self._version = version
        self._flexible = message.is_flexible(version)
        self._message = message
        self._random = random.Random(f"{message.name} {version} {seed}")
        self._most = most
        self._unknown_tags = unknown_tags

    def body(self) -> dict[str, Any]:
        """Return a whole body."""
        return self._struct(self._message.root)

    def _struct(self, of: Struct) -> dict[str, Any]:
        fields = [f for f in of.fields if self._version in f.versions and not self._left_out(f)]
        value: dict[str, Any] = {field.name: self.field(field) for field in fields}
        if self._flexible and self._unknown_tags and self._random.random() < 0.2:
            tags = self._random.sample(range(FIRST_UNKNOWN_TAG, FIRST_UNKNOWN_TAG + 300), 2)
            value["_tags"] = {
                tag: self._random.randbytes(self._random.choice((0, 3, 200))) for tag in sorted(tags)
            }
        return value

    def _left_out(self, field: Field) -> bool:
        tagged = field.tag is not None and self._flexible and self._version in field.tagged
        return tagged and self._random.random() < 0.4

    def field(self, field: Field) -> Any:
        """Return a value of one field."""
        if self._version in field.nullable and self._random.random() < 0.25:
            return None
        return self._value(field.type)

    def _value(self, of: Type) -> Any:
        if isinstance(of, Struct):
            return self._struct(of)
        if isinstance(of, Array):
            return [self._value(of.element) for _ in range(self._random.randint(0, self._most))]
        return self._primitive(of)

    def _primitive(self, of: Primitive) -> Any:
        dice = self._random
        if of in _INTEGERS:
            low, high = _INTEGERS[of]
            return dice.choice((low, high, 0, 1, dice.randint(low, high)))
        if of is Primitive.BOOL:
            return dice.random() < 0.5
        if of is Primitive.FLOAT64:
            return dice.choice((0.0, -1.5, float("inf"), float("-inf"), dice.random()))
        if of is Primitive.UUID:
            return dice.choice((bytes(16), dice.randbytes(16)))
        if of is Primitive.STRING:
            # Around 127 bytes the compact length takes a second byte.
            return "".join(
                dice.choices(
                    _LETTERS, k=dice.choice((0, 1, 5, 20) if self._most < 2 else (0, 3, 12, 126, 130))
                )
            )
        return dice.randbytes(dice.choice((0, 1, 30) if self._most < 2 else (0, 1, 127, 128, 300)))
