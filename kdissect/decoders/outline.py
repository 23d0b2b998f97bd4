"""What of a body decides its summary: the bytes that a summary looks at, and where a length is free.

By a walk (`walk`); made for ordinary bodies, once for each form they have (`remembered`). What is left to
the compiled summarizer: topics and errors in tagged fields, records of two partitions, what does not fit.
"""

from struct import error as StructError  # noqa: N812  an exception class, whatever its case
from typing import NamedTuple

from kdissect.decoders.summary import NO_TOPIC_ID, Summary, SummarySink
from kdissect.decoders.walk import Mark, Route, Step, Walk, merged
from kdissect.schema.types import Array, Field, Message, Struct

# Bodies with more to look at (metadata of dozens of partitions) are rare, and not worth the memory.
MOST_PIECES, MOST_BYTES = 128, 2048
MOST_BEHIND = 4096  # bytes behind the records

Pieces = tuple[Mark, ...]
"""Ranges of bytes, in order, no two side by side."""


class NotOrdinaryError(Exception):
    """The body is one for the compiled summarizer."""


class Form(NamedTuple):
    """Where the decisive bytes of a body are. Bodies of one form with the same ones have the same summary.

    `pieces` are the ranges of decisive bytes, by their offsets from the start of the body, which has `size`
    bytes. One with records may have more or less of them: then `size` is 0, the length of the records stands
    at `free`, and what follows them is `behind` bytes, with `pieces_behind`, by their offsets in these.
    """

    pieces: Pieces
    size: int
    free: int | None = None
    behind: int = 0
    pieces_behind: Pieces = ()


class Outline(NamedTuple):
    """A body's summary and form. `sign` is the offset of a byte that mostly tells the forms of a kind apart:
    the last one of the length of the first topic's name.
    """

    summary: Summary
    form: Form
    sign: int


class OutlineRoute(Route):
    """Wants what a summary wants; tags only to refuse those that have it."""

    def __init__(self, message: Message, version: int) -> None:
        super().__init__(message, version)
        self._sink = SummarySink(self.layout)

    def wants(self, of: Struct, field: Field) -> bool:
        """Topics, errors, acks."""
        return self._sink.wants_field(field) or (of is self.root and self._sink.is_acks(field))

    def is_looked_at(self, of: Struct, field: Field) -> bool:
        """One that has something wanted in it."""
        return self._sink.wants_field(field)

    def outline(self, data: bytes, offset: int) -> Outline:
        """Of the body from `offset` to the end of `data`. Raises NotOrdinaryError."""
        walk = _OutlineWalk(self, data, offset)
        try:
            walk.go()
        except (ValueError, IndexError, StructError):
            raise NotOrdinaryError from None
        return walk.outline(offset)


class _OutlineWalk(Walk[OutlineRoute]):
    """Notes what a summary tells, and how much decides: `_size` bytes in `_pieces` ranges."""

    __slots__ = ("_acks", "_ids", "_is_new", "_pieces", "_sign", "_size", "_stop", "_topics")

    def __init__(self, route: OutlineRoute, data: bytes, offset: int) -> None:
        super().__init__(route, data, offset)
        self._topics: dict[str, None] = {}
        self._ids: dict[bytes, None] = {}
        self._acks: int | None = None
        self._sign = self._size = self._pieces = 0
        self._stop = -1  # of the latest range
        self._is_new = False  # the latest mark began a range

    def outline(self, start: int) -> Outline:
        """What was found in the body that begins there. Raises NotOrdinaryError."""
        marks, end = self.marks, self._at
        summary = Summary(tuple(self.errors), tuple(self._topics), tuple(self._ids), self._acks, True, True)
        if not self.records:
            return Outline(summary, Form(merged(marks, start), end - start), 0)
        ((before, tail),) = self.records
        if end - tail > MOST_BEHIND:
            raise NotOrdinaryError
        free = marks[before][0] - start
        form = Form(merged(marks[:before], start), 0, free, end - tail, merged(marks[before + 1 :], tail))
        return Outline(summary, form, self._sign - start if self._sign else 0)

    def _decide(self, width: int) -> None:
        start = self._at
        self._size += width
        if self._size > MOST_BYTES or self._pieces > MOST_PIECES:
            raise ValueError("too much to remember")
        self._is_new = start != self._stop
        self._pieces += self._is_new
        self.marks.append((start, width))
        self._at = self._stop = start + width

    def _fixed(self, field: Field, width: int) -> None:
        raw = self._data[self._at : self._at + width]
        self._decide(width)
        if width != len(NO_TOPIC_ID):
            self._acks = int.from_bytes(raw, signed=True)
        elif raw != NO_TOPIC_ID or isinstance(field.type, Array):  # as the compiled summarizer does
            self._ids[raw] = None

    def _content(self, field: Field, size: int, wanted: bool) -> None:
        start = self._at
        if not wanted:
            self._at += size
            return
        self._sign = self._sign or start - 1
        self._decide(size)
        self._topics[self._data[start : self._at].decode("utf-8", "backslashreplace")] = None

    def _records(self, size: int) -> None:
        if self.records:
            raise ValueError("records of two partitions")
        self._pieces -= self._is_new  # their length is free
        super()._records(size)

    def _tagged(self, step: Step) -> None:
        raise ValueError("something wanted in a tag")
