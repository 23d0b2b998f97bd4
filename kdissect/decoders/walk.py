"""Walks one body along its schema without code made for it, and marks the bytes that decide.

For the first bodies of a kind: to emit and compile code for it takes as long as twenty to forty walks. Here
is what all walks share: order, lengths, nulls, tag sections, and how the bytes of marks are taken out of
other bodies. What is wanted of a body is told by subclasses (`outline`, `survey`).
"""

from collections.abc import Callable
from struct import Struct as Format
from typing import Generic, TypeVar

from kdissect.decoders.cursor import more_varint
from kdissect.decoders.layout import Layout
from kdissect.decoders.quirks import is_null_marker
from kdissect.schema.types import Array, Field, Message, Primitive, Struct

Mark = tuple[int, int]
"""Place and width in bytes of something that decides."""

Step = tuple[int, Field | None, bool, bool]
"""A field: its width, or that of its elements (0 where it varies), whether it has something in it that is
wanted, whether it may be null. Or without a field so many bytes to pass over."""

Unpack = Callable[[bytes, int], tuple[object, ...]]

_INT8, _INT16, _INT32 = (Format(code).unpack_from for code in (">b", ">h", ">i"))
_CODES = {2: "H", 4: "I"}  # numbers are quicker than bytes of a length where there is a code


class Route:
    """One version of a message, and what walks of its bodies need to know of it."""

    def __init__(self, message: Message, version: int) -> None:
        self.layout = Layout(message, version)
        self.root = message.root
        self._steps: dict[Struct, list[Step]] = {}
        self._tags: dict[Struct, dict[int | None, Step]] = {}

    def wants(self, of: Struct, field: Field) -> bool:
        """Whether a field of a struct is wanted, or anything in it."""
        raise NotImplementedError

    def is_looked_at(self, of: Struct, field: Field) -> bool:
        """Whether a tagged field is more than a tag and bytes to pass over."""
        raise NotImplementedError

    def steps(self, of: Struct) -> list[Step]:
        """Through the fields of a struct that have no tag."""
        found = self._steps.get(of)
        if found is None:
            found = self._steps[of] = []
            for field in self.layout.plain_fields(of):
                step = self.step(of, field)
                if step[1] is None and found and found[-1][1] is None:
                    step = (found.pop()[0] + step[0], *step[1:])
                found.append(step)
        return found

    def step(self, of: Struct, field: Field) -> Step:
        """Through one field of a struct."""
        wanted, kind = self.wants(of, field), field.type
        width = self.layout.fixed_size(kind.element if isinstance(kind, Array) else kind) or 0
        if isinstance(kind, Primitive) and width and not wanted:
            return width, None, False, False
        return width, field, wanted, self.layout.is_nullable(field)

    def tags(self, of: Struct) -> dict[int | None, Step]:
        """Through the tagged fields of a struct that are looked at, by their tags."""
        found = self._tags.get(of)
        if found is None:
            fields = [field for field in self.layout.tagged_fields(of) if self.is_looked_at(of, field)]
            found = self._tags[of] = {field.tag: self.step(of, field) for field in fields}
        return found


_Route = TypeVar("_Route", bound=Route)


class Walk(Generic[_Route]):
    """Goes over one body, from `offset` to the end of the data.

    `errors` are the distinct error codes that are not zero, in order of appearance, of those fields that the
    route wants. `marks` are all that decides where fields stand and what is found: lengths, counts, markers,
    tags, and what is wanted. `records` are those that are not empty: the number of marks before their length,
    and where they end.
    """

    __slots__ = ("_at", "_data", "_flexible", "_route", "errors", "marks", "records")

    def __init__(self, route: _Route, data: bytes, offset: int) -> None:
        self._route = route
        self._flexible = route.layout.flexible
        self._data = data
        self._at = offset
        self.errors: dict[int, None] = {}
        self.marks: list[Mark] = []
        self.records: list[tuple[int, int]] = []

    def go(self) -> None:
        """Walk. Raises ValueError, IndexError or struct.error where the bytes are not exactly one body, or
        the subclass refuses them.
        """
        self._struct(self._route.root)
        if self._at != len(self._data):
            raise ValueError("bytes left over, or missing")

    def _decide(self, width: int) -> None:
        """So many bytes from here on decide. Raises ValueError where that is too much."""
        raise NotImplementedError

    def _fixed(self, field: Field, width: int) -> None:
        """A value of a fixed width that is wanted, but for error codes."""
        raise NotImplementedError

    def _content(self, field: Field, size: int, wanted: bool) -> None:
        """The bytes of a string or blob whose length was read, and is not null."""
        raise NotImplementedError

    def _pass(self, size: int) -> None:
        """Elements whose count was read, of which nothing is wanted."""
        self._at += size

    def _records(self, size: int) -> None:
        """Records, at least a byte of them."""
        self.records.append((len(self.marks) - 1, self._at + size))
        self._at += size
        if self._at > len(self._data):
            raise ValueError("records are cut")

    def _tagged(self, step: Step) -> None:
        """A tagged field that is looked at."""
        _, field, _, nullable = step
        if field is None or not nullable or not isinstance(field.type, Struct):
            self._steps((step,))
        elif self._varint() > 0:
            self._struct(field.type)

    def _struct(self, of: Struct) -> None:
        self._steps(self._route.steps(of))
        if self._flexible:
            self._tags(of)

    def _steps(self, steps: "list[Step] | tuple[Step, ...]") -> None:
        for width, field, wanted, nullable in steps:
            if field is None:
                self._at += width
            elif field.is_error:
                self._error()
            else:
                kind = field.type
                if isinstance(kind, Array):
                    self._array(field, kind.element, width, wanted, nullable)
                elif isinstance(kind, Struct):
                    if not nullable or not self._is_null():
                        self._struct(kind)
                elif width:
                    self._fixed(field, width)
                else:
                    self._variable(field, kind, wanted, nullable)

    def _error(self) -> None:
        code = _INT16(self._data, self._at)[0]
        self._decide(2)
        if code:
            self.errors[code] = None

    def _is_null(self) -> bool:
        (marker,) = _INT8(self._data, self._at)
        self._decide(1)
        return is_null_marker(marker)

    def _varint(self) -> int:
        value, count = self._data[self._at], 0
        if value > 127:
            value, count = more_varint(self._data, self._at + 1, value)
        self._decide(1 + count)
        return value

    def _length(self, short: bool, nullable: bool) -> int:
        """Length or count of what comes; -1 for null. `short` ones take two bytes where they are not
        compact."""
        if self._flexible:
            length = self._varint() - 1
        else:
            (length,) = (_INT16 if short else _INT32)(self._data, self._at)
            self._decide(2 if short else 4)
        if length < (-1 if nullable else 0):
            raise ValueError("negative length")
        return int(length)

    def _variable(self, field: Field, kind: Primitive, wanted: bool, nullable: bool) -> None:
        size = self._length(kind is Primitive.STRING, nullable)
        if kind is not Primitive.RECORDS:
            if size >= 0:
                self._content(field, size, wanted)
        elif size > 0:
            self._records(size)

    def _array(
        self, field: Field, element: Primitive | Struct, width: int, wanted: bool, nullable: bool
    ) -> None:
        count = self._length(False, nullable)
        if width and not wanted:
            if count > 0:
                self._pass(count * width)
            return
        if count > len(self._data) - self._at:  # every element takes a byte at least
            raise ValueError("more elements than bytes")
        for _ in range(count):
            if isinstance(element, Struct):
                self._struct(element)
            elif width:
                self._fixed(field, width)
            else:  # never null (Apache Kafka's generated readers refuse it)
                self._variable(field, element, wanted, nullable=False)

    def _tags(self, of: Struct) -> None:
        count = self._varint()
        if not count:
            return
        known = self._route.tags(of)
        for _ in range(count):
            tag, size = self._varint(), self._varint()
            stop = self._at + size
            if tag in known:
                self._tagged(known[tag])
                if self._at != stop:
                    raise ValueError("a tagged field of another size")
            self._at = stop


def merged(marks: list[Mark], at: int) -> tuple[Mark, ...]:
    """Marks as places from `at` on; those side by side are one."""
    found: list[Mark] = []
    start = stop = -1
    for place, width in marks:
        if place != stop:
            if start >= 0:
                found.append((start - at, stop - start))
            start = place
        stop = place + width
    if start >= 0:
        found.append((start - at, stop - start))
    return tuple(found)


def code_of(marks: tuple[Mark, ...]) -> str:
    """Of `struct`, for marks by their places."""
    code, at = ">", 0
    for place, width in marks:
        gap = f"{place - at}x" if place != at else ""
        code += gap + (_CODES.get(width) or f"{width}s")
        at = place + width
    return code


def unpacker(marks: tuple[Mark, ...]) -> Unpack:
    """What takes out of another body what stands where the marks are."""
    return Format(code_of(marks)).unpack_from
