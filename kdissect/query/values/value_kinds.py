"""Kinds of values: their form in a filter, and the operations on them.

A kind is a plain object. Equal kinds are the same object. `parse` raises ValueError with a line for people,
and with a hint after a line end if it has one.
"""

from __future__ import annotations

from binascii import Error, a2b_base64
from collections.abc import Callable, Sequence
from typing import Any

from kdissect.decoders.as_json.jsonable import uuid_text
from kdissect.query.syntax.nodes import Literal

Test = Callable[[Any], bool]
_NO_HEX = "is no hex: two digits for each byte"
MAX_DIGITS = 40  # of a number: 2^64 has 20; Python refuses to read more than 4300 at once


class ValueKind:
    """A kind of value. This class handles values that can only be compared for equality."""

    name = "value"
    doc = ""
    unit = ""
    """The unit of a bare number."""
    example = ""
    ordered = False
    textual = False
    quantity = ""
    """The quantity that values measure: fields of one quantity can be compared with each other."""
    scale = 1
    """The size of the values' unit, in the smallest unit of the quantity."""

    def parse(self, literal: Literal) -> Any:
        """Return the value of a literal."""
        raise ValueError(f"{self.name} cannot be compared")

    def piece(self, literal: Literal) -> Any:
        """Return what `contains` looks for."""
        return literal.text

    def contains(self, piece: Any) -> Test:
        """Return a test for a piece of the value."""
        text = self.text
        return lambda raw: piece in text(raw)

    def bind(self, value: Any, start_ns: Callable[[], int]) -> Any:
        """Return the value once the capture's first packet is known."""
        return value

    def equals(self, value: Any) -> Test:
        """Return a test for that value."""
        return lambda raw: bool(raw == value)

    def one_of(self, values: Sequence[Any]) -> Test:
        """Return a test for one of several values."""
        known = frozenset(values)
        return lambda raw: raw in known

    def text(self, raw: Any) -> str:
        """Return the value as text, for patterns and `contains`."""
        return str(raw)

    def choices(self) -> Sequence[tuple[str, str]]:
        """Return values that completion can offer, each with a help text."""
        return ()


class Number(ValueKind):
    """Whole numbers, also as 0x..."""

    name = "int"
    doc = "a whole number: 3, -1, 0xff, 1_000"
    example = "3"
    ordered = True
    quantity = "number"

    def parse(self, literal: Literal) -> int:
        """Return an int."""
        found = whole(literal.text)
        if found is None:
            raise ValueError(f"{literal.text!r} is no whole number")
        return found


class Real(ValueKind):
    """Floating point numbers."""

    name = "float"
    doc = "a number: 0.5, 3, -1e6"
    example = "0.5"
    ordered = True
    quantity = "number"

    def parse(self, literal: Literal) -> float:
        """Return a float."""
        try:
            return float(literal.text)
        except ValueError:
            raise ValueError(f"{literal.text!r} is no number") from None


class Flag(ValueKind):
    """Truth values."""

    name = "bool"
    doc = "true or false. The field alone means that it is true"
    example = "true"

    def parse(self, literal: Literal) -> bool:
        """Return a bool."""
        found = {"true": True, "false": False, "1": True, "0": False}.get(literal.text.lower())
        if found is None:
            raise ValueError(f"{literal.text!r} is neither true nor false")
        return found

    def choices(self) -> Sequence[tuple[str, str]]:
        """Both."""
        return (("true", ""), ("false", ""))


class Text(ValueKind):
    """Texts."""

    name = "string"
    doc = "a text, in quotes where it has more than letters, digits and _ . : / % + - * @ ^ $ ? [ ]"
    example = '"orders"'
    textual = True

    def parse(self, literal: Literal) -> str:
        """Return the text."""
        return literal.text


class Bytes(ValueKind):
    """Bytes."""

    name = "bytes"
    doc = "bytes: 0x..., or a text in quotes, which stands for its UTF-8"
    example = "0xcafe"
    textual = True

    def parse(self, literal: Literal) -> bytes:
        """Bytes."""
        if literal.is_text or not literal.text.lower().startswith("0x"):
            return literal.text.encode("utf-8", "surrogatepass")
        try:
            return bytes.fromhex(literal.text[2:])
        except ValueError:
            raise ValueError(f"{literal.text!r} {_NO_HEX}") from None

    def piece(self, literal: Literal) -> bytes:
        """Return the text as UTF-8."""
        return literal.text.encode("utf-8", "surrogatepass")

    def contains(self, piece: bytes) -> Test:
        """Return a test for these bytes."""
        return lambda raw: piece in raw

    def text(self, raw: bytes) -> str:
        """Return UTF-8; what is none as `\\xNN`."""
        return bytes(raw).decode("utf-8", "backslashreplace")


class Hex(Bytes):
    """Bytes that are written as hex digits."""

    name = "hex"
    doc = "bytes as hex digits: 0012cafe or 0x0012cafe, in quotes also with spaces between bytes"
    example = "0012cafe"

    def parse(self, literal: Literal) -> bytes:
        """Bytes."""
        try:
            return bytes.fromhex(literal.text.lower().removeprefix("0x"))
        except ValueError:
            raise ValueError(f"{literal.text!r} {_NO_HEX}") from None

    def piece(self, literal: Literal) -> bytes:
        """Bytes."""
        return self.parse(literal)

    def text(self, raw: bytes) -> str:
        """Return the digits in lower case."""
        return raw.hex()


class Uuid(ValueKind):
    """Topic ids and the like: 16 bytes."""

    name = "uuid"
    doc = "an id as Kafka prints it (22 characters of base64url), or as 8-4-4-4-12 hex digits"
    example = "AAAAAAAAAAAAAAAAAAAAAQ"
    textual = True

    def parse(self, literal: Literal) -> bytes:
        """Return 16 bytes."""
        text = literal.text
        try:
            digits = text.replace("-", "")
            if len(text) == 36 and len(digits) == 32:
                return bytes.fromhex(digits)
            found = a2b_base64(text.replace("-", "+").replace("_", "/") + "==")
        except (Error, ValueError):
            found = b""
        if len(found) != 16 or len(text) != 22:
            raise ValueError(f"{text!r} is no 22-character id")
        return found

    def text(self, raw: bytes) -> str:
        """Return the id as Kafka prints it."""
        return uuid_text(raw)


class Structure(ValueKind):
    """Structs and lists of structs: there or not, and how many."""

    name = "struct"
    doc = "the field alone means that it is there, count(FIELD) compares how often"


def whole(text: str) -> int | None:
    """Return a whole number, None for anything else."""
    try:
        return int(text, 0) if len(text) <= MAX_DIGITS else None
    except ValueError:
        try:
            return int(text)  # leading zeros, which int(text, 0) refuses
        except ValueError:
            return None


NUMBER, REAL, FLAG, TEXT, BYTES, HEX, UUID = Number(), Real(), Flag(), Text(), Bytes(), Hex(), Uuid()
STRUCTURE = Structure()
