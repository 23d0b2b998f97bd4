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
from kdissect.decoders.survey import Survey, SurveyRoute
from kdissect.decoders.walk import Unpack, code_of, merged, unpacker
from kdissect.schema.types import Message, MessageKind

# What is spent on learning from bodies of one kind before code is made for it, in walks: more than most kinds
# have shapes, and they take about as long as making the code. One that teaches nothing costs more of it.
_LESSONS = 24
_NO_LESSON = 3
# Marks in all shapes together, of some 90 bytes each. Captures of everyday traffic have a few thousand.
ALL_MARKS = 200_000


class Glance(NamedTuple):
    """What a glance of a body tells: that it fits to the last byte, and this.

    `errors` are the distinct error codes that are not zero, in order of appearance; `batches` counts batches
    of records, all of them right.
    """

    errors: tuple[int, ...]
    batches: int


CLEAN, BATCH = Glance((), 0), Glance((), 1)  # what nearly all bodies come to

Glancer = Callable[[bytes, int], Glance | None]
Shape = tuple[Unpack, tuple[object, ...], Glance]
"""Unpacks all that decides, what then comes out, and what a body is with that."""
OpenShape = tuple[Unpack, tuple[object, ...], int, int, Unpack, tuple[object, ...]]
"""The same of bodies with one field of records, whose length is free: unpacks what decides before that, and
what then comes out; where its length stands, and how many bytes follow it; unpacks what decides in those, and
what then comes out."""


class Shapes:
    """The shapes of one kind of body.

    `known` has them by the bodies' length, `open` those with records by what `head` unpacks of the bodies.
    """

    __slots__ = (
        "_head",
        "_other_version",
        "_route",
        "compact",
        "head",
        "known",
        "left",
        "may_be_cut",
        "open",
    )
    _room: ClassVar = ALL_MARKS

    def __init__(self, message: Message, version: int) -> None:
        self._route = SurveyRoute(message, version)
        self.may_be_cut = self._route.may_be_cut
        self.compact = self._route.layout.flexible
        """Whether the length of records is a varint."""
        is_response = message.kind is MessageKind.RESPONSE
        self._other_version = is_response and may_answer_in_other_version(message.api_key or 0)
        self.known: dict[int, Shape] = {}
        self.open: dict[tuple[object, ...], OpenShape] = {}
        self.head: Unpack = _nothing
        self._head = ""
        self.left = _LESSONS
        """How much more is spent on learning."""

    def walk(self, data: bytes, offset: int) -> Glance | None:
        """Look at every field of a body, and learn its shape.

        None where it does not fit, as a glance says. Raises nothing.
        """
        try:
            walk = Survey(self._route, data, offset)
        except (ValueError, IndexError, StructError):
            self.left -= _NO_LESSON
            return None
        if self._other_version and UNSUPPORTED_VERSION in walk.errors:
            return None  # whichever version that is written in
        found = Glance(tuple(walk.errors), walk.batches)
        if self.left > 0:
            self.left -= 1
            if len(walk.marks) <= Shapes._room:
                self._learn(walk, data, offset, found)
        return found

    def _learn(self, walk: Survey, data: bytes, offset: int, found: Glance) -> None:
        if not walk.records:
            Shapes._room -= len(walk.marks)
            unpack = unpacker(merged(walk.marks, offset))
            self.known.setdefault(len(data) - offset, (unpack, unpack(data, offset), found))
        elif len(walk.records) == 1 and not walk.errors and walk.head is not None:
            self._learn_open(walk, walk.head, data, offset)
        else:  # it taught nothing, as others like it will
            self.left -= _NO_LESSON

    def _learn_open(self, walk: Survey, head: int, data: bytes, offset: int) -> None:
        marks = walk.marks
        ((before, stop),) = walk.records
        place = code_of(merged(marks[:head], offset))
        if not self._head:
            self._head, self.head = place, Format(place).unpack_from
        elif self._head != place:
            self.left -= _NO_LESSON
            return
        Shapes._room -= len(marks)
        unpack = unpacker(merged(marks[head:before], offset))
        behind = unpacker(merged(marks[before + 1 :], stop))
        self.open[self.head(data, offset)] = (
            unpack, unpack(data, offset), marks[before][0] - offset, len(data) - stop,
            behind, behind(data, stop),
        )  # fmt: skip


def _nothing(_data: bytes, _offset: int) -> tuple[object, ...]:
    return ()
