"""Shapes of bodies: what of the bytes decides whether they fit, kept of those that did.

Of two bodies of one kind and length whose lengths, counts, markers, tags and error codes are the same bytes,
one fits if the other does, and has the same error codes. Clients and brokers repeat themselves: of 57,606
bodies of everyday exchanges all without records had one of 137 shapes.
"""

from collections.abc import Callable
from struct import Struct as Format
from struct import error as StructError  # noqa: N812  an exception class, whatever its case
from typing import ClassVar, NamedTuple

from kdissect.decoders.quirks import UNSUPPORTED_VERSION, may_answer_in_other_version
from kdissect.decoders.walk import Route, Walk
from kdissect.schema.types import Message, MessageKind

# Bodies of each kind to learn from before code is made for it: more than most kinds have shapes, and as many
# walks as take about as long as making the code.
_SHAPES_OF_KIND = 24
# Marks in all shapes together, of some 90 bytes each. Captures of everyday traffic have a few thousand.
_ALL_MARKS = 200_000
_CODES = {2: "H", 4: "I"}  # numbers are quicker than bytes of a length where there is a code


class Glance(NamedTuple):
    """What a glance of a body tells: that it fits to the last byte, and this.

    `errors` are the distinct error codes that are not zero, in order of appearance; `batches` counts batches
    of records, all of them right.
    """

    errors: tuple[int, ...]
    batches: int


CLEAN, BATCH = Glance((), 0), Glance((), 1)  # what nearly all bodies come to

Glancer = Callable[[bytes, int], Glance | None]
Shape = tuple[Callable[[bytes, int], tuple[object, ...]], tuple[object, ...], Glance]
"""Unpacks all that decides, what then comes out, and what a body is with that."""


class Shapes:
    """The shapes of one kind of body; `known` has them by the bodies' length."""

    __slots__ = ("_other_version", "_route", "known", "left")
    _room: ClassVar = _ALL_MARKS

    def __init__(self, message: Message, version: int) -> None:
        self._route = Route(message, version)
        is_response = message.kind is MessageKind.RESPONSE
        self._other_version = is_response and may_answer_in_other_version(message.api_key or 0)
        self.known: dict[int, Shape] = {}
        self.left = _SHAPES_OF_KIND
        """How many more bodies are walked to learn from them."""

    def walk(self, data: bytes, offset: int) -> Glance | None:
        """Look at every field of a body, and learn its shape.

        None where it does not fit, as a glance says. Raises nothing.
        """
        try:
            walk = Walk(self._route, data, offset)
        except (ValueError, IndexError, StructError):
            return None
        if self._other_version and UNSUPPORTED_VERSION in walk.errors:
            return None  # whichever version that is written in
        found = Glance(tuple(walk.errors), walk.batches)
        if self.left > 0:
            self.left -= 1
            if not walk.has_records:
                self._learn(walk.marks, data, offset, found)
        return found

    def _learn(self, marks: list[tuple[int, int]], data: bytes, offset: int, found: Glance) -> None:
        size = len(data) - offset
        if size in self.known or len(marks) > Shapes._room:
            return
        Shapes._room -= len(marks)
        unpack = Format(_format(marks, offset)).unpack_from
        self.known[size] = unpack, unpack(data, offset), found


def _format(marks: list[tuple[int, int]], at: int) -> str:
    """Of `struct`, for the marks of a body that begins `at`; those side by side are one."""
    parts = [">"]
    width = 0
    for place, size in marks:
        if place != at + width:
            parts.append(_code(width))
            parts.append(f"{place - at - width}x")
            at, width = place, 0
        width += size
    parts.append(_code(width))
    return "".join(parts)


def _code(width: int) -> str:
    return _CODES.get(width) or f"{width}s" if width else ""
