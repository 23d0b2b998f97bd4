"""What of a body decides its summary: the bytes that a summary looks at, and where a length is free.

Interprets the schema; made for ordinary bodies, once for each form they have (`remembered`). What is left to
the compiled summarizer: topics and errors in tagged fields, records of two partitions, what does not fit.
"""

from typing import NamedTuple

from kdissect.decoders.cursor import uvarint
from kdissect.decoders.layout import FIXED, Layout
from kdissect.decoders.quirks import is_null_marker
from kdissect.decoders.summary import NO_TOPIC_ID, Summary, SummarySink
from kdissect.schema.types import Array, Field, Message, Primitive, Struct

# Bodies with more to look at (metadata of dozens of partitions) are rare, and not worth the memory.
MOST_PIECES, MOST_BYTES = 128, 2048
MOST_BEHIND = 4096  # bytes behind the records

Pieces = tuple[tuple[int, int], ...]
"""Ranges of bytes, in order."""

Step = tuple[int, Field | None, bool]
"""A field, and whether anything in it is wanted; or without a field so many bytes to pass over."""


class NotOrdinaryError(Exception):
    """The body is one for the compiled summarizer."""


class Form(NamedTuple):
    """Where the decisive bytes of a body are. Bodies of one form with the same ones have the same summary.

    `pieces` are the ranges of decisive bytes, as offsets from the start of the body, which has `size` bytes.
    One with records may have more or less of them: then `size` is 0, the length of the records stands at
    `free`, and what follows them is `behind` bytes, with `pieces_behind`.
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


class Outliner:
    """Finds outlines of one version of a message."""

    def __init__(self, message: Message, version: int) -> None:
        self.layout = Layout(message, version)
        self.root = message.root
        self._sink = SummarySink(self.layout)
        self._steps: dict[Struct, list[Step]] = {}

    def outline(self, data: bytes, offset: int) -> Outline:
        """Of the body from `offset` to the end of `data`. Raises NotOrdinaryError."""
        walk = _Walk(self, data, offset)
        try:
            walk.struct(self.root)
        except (ValueError, IndexError):
            raise NotOrdinaryError from None
        return walk.outline()

    def steps(self, of: Struct) -> list[Step]:
        """The fields of a struct that have no tag."""
        found = self._steps.get(of)
        if found is None:
            found = self._steps[of] = []
            for field in self.layout.plain_fields(of):
                wanted = self._sink.wants_field(field) or (of is self.root and self._sink.is_acks(field))
                width = (
                    FIXED[field.type][1] if isinstance(field.type, Primitive) and field.type in FIXED else 0
                )
                found.append((width, None if width and not wanted else field, wanted))
        return found

    def wanted_tags(self, of: Struct) -> list[int | None]:
        """Those tags of a struct whose fields have something wanted in them."""
        return [field.tag for field in self.layout.tagged_fields(of) if self._sink.wants_field(field)]


class _Walk:
    """One body. `_pieces` are flat: start, stop, start, stop ..."""

    def __init__(self, outliner: Outliner, data: bytes, offset: int) -> None:
        self._outliner, self._layout = outliner, outliner.layout
        self._data, self._start, self._at = data, offset, offset
        self._pieces: list[int] = []
        self._decisive = 0
        self._errors: dict[int, None] = {}
        self._topics: dict[str, None] = {}
        self._ids: dict[bytes, None] = {}
        self._acks: int | None = None
        self._free: int | None = None
        self._tail = 0
        self._sign = 0

    def outline(self) -> Outline:
        """What was found, once the root was walked. Raises NotOrdinaryError."""
        end, start, tail = self._at, self._start, self._tail
        if end != len(self._data) or (tail and end - tail > MOST_BEHIND):
            raise NotOrdinaryError
        pieces = [*zip(self._pieces[::2], self._pieces[1::2], strict=True)]
        summary = Summary(tuple(self._errors), tuple(self._topics), tuple(self._ids), self._acks, True, True)
        if self._free is None:
            return Outline(summary, Form(_from(start, pieces), end - start), 0)
        before = _from(start, [piece for piece in pieces if piece[0] < self._free])
        behind = _from(tail, [piece for piece in pieces if piece[0] >= tail])
        form = Form(before, 0, self._free - start, end - tail, behind)
        return Outline(summary, form, self._sign - start if self._sign else 0)

    def struct(self, of: Struct) -> None:
        """One struct from here on."""
        for width, field, wanted in self._outliner.steps(of):
            if field is None:
                self._at += width
            elif width:
                self._fixed(field, width)
            elif isinstance(field.type, Array):
                self._array(field, field.type.element, wanted)
            elif isinstance(field.type, Struct):
                self._inner(field, field.type)
            else:
                self._variable(field, wanted)
        if self._layout.flexible:
            self._tags(of)

    def _decide(self, size: int) -> bytes:
        """The next bytes, which are decisive."""
        start, pieces = self._at, self._pieces
        self._at = stop = start + size
        self._decisive += size
        if stop > len(self._data) or self._decisive > MOST_BYTES or len(pieces) > 2 * MOST_PIECES:
            raise NotOrdinaryError
        if pieces and pieces[-1] == start:
            pieces[-1] = stop
        else:
            pieces += start, stop
        return self._data[start:stop]

    def _fixed(self, field: Field, width: int) -> None:
        raw = self._decide(width)
        if field.type is Primitive.UUID:
            if raw != NO_TOPIC_ID:
                self._ids[raw] = None
        elif not field.is_error:
            self._acks = int.from_bytes(raw, signed=True)
        elif any(raw):
            self._errors[int.from_bytes(raw, signed=True)] = None

    def _length(self, width: int, compact: bool, nullable: bool) -> int:
        """A length or count; -1 is null."""
        value = self._uvarint() - 1 if compact else int.from_bytes(self._decide(width), signed=True)
        if value < (-1 if nullable else 0):
            raise NotOrdinaryError
        return value

    def _variable(self, field: Field, wanted: bool) -> None:
        nullable = self._layout.is_nullable(field)
        if field.type is Primitive.RECORDS:
            self._records(nullable)
        elif field.type is Primitive.STRING:
            self._content(self._length(2, self._layout.is_compact(field), nullable), wanted)
        else:
            self._content(self._length(4, self._layout.flexible, nullable), wanted)

    def _content(self, size: int, wanted: bool) -> None:
        if wanted and size >= 0:
            self._sign = self._sign or self._at - 1
            self._topics[self._decide(size).decode("utf-8", "backslashreplace")] = None
        else:
            self._at += max(size, 0)

    def _records(self, nullable: bool) -> None:
        start, before = self._at, self._pieces[:]
        size = self._length(4, self._layout.flexible, nullable)
        if size <= 0:
            return
        if self._free is not None:
            raise NotOrdinaryError
        self._pieces = before
        self._free = start
        self._at = self._tail = self._at + size

    def _tags(self, of: Struct) -> None:
        """A tag section, in which nothing is wanted."""
        for _ in range(self._uvarint()):
            tag = self._uvarint()
            if tag in self._outliner.wanted_tags(of):
                raise NotOrdinaryError
            size = self._uvarint()
            self._at += size

    def _uvarint(self) -> int:
        value, end = uvarint(self._data, self._at)
        self._decide(end - self._at)
        return value

    def _inner(self, field: Field, of: Struct) -> None:
        if self._layout.is_nullable(field):
            marker = int.from_bytes(self._decide(1), signed=True)
            if is_null_marker(marker):
                return
        self.struct(of)

    def _array(self, field: Field, element: Primitive | Struct, wanted: bool) -> None:
        layout = self._layout
        count = self._length(4, layout.flexible, layout.is_nullable(field))
        if count * layout.min_element(element) > len(self._data) - self._at:
            raise NotOrdinaryError
        size = layout.fixed_size(element)
        if size and not wanted:
            self._at += max(count, 0) * size
            return
        for _ in range(count):
            if isinstance(element, Struct):
                self.struct(element)
            elif size:
                self._ids[self._decide(size)] = None
            else:
                width = 2 if element is Primitive.STRING else 4
                self._content(self._length(width, layout.flexible, nullable=False), wanted)


def _from(start: int, pieces: list[tuple[int, int]]) -> Pieces:
    return tuple((a - start, b - start) for a, b in pieces)
