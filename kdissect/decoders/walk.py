"""Walks one body along its schema without code made for it: what a glance of it tells, and what decides it.

For bodies of kinds that come a few times only: to emit and compile code for a kind (`glance`) takes as long
as twenty to forty walks.
"""

from struct import Struct as Format

from kdissect.decoders.cursor import more_varint
from kdissect.decoders.layout import FIXED, Layout
from kdissect.decoders.quirks import is_null_marker
from kdissect.decoders.records.tally import count_batches
from kdissect.schema.registry import payload
from kdissect.schema.types import Array, Field, Message, MessageKind, Primitive, Struct, Type

# What stands in these places in a group of consumers (`payloads.groups`); in others a walk does not look.
_OF_CONSUMERS = {
    "groupAssignment": "ConsumerProtocolAssignment",
    "groupMetadata": "ConsumerProtocolSubscription",
}
_CONSUMER = b"consumer"
_PROTOCOL_TYPE = "protocol_type"

# Of a body with more to look at code is sooner done, and their places are no small memory: 100 bytes each.
_MOST_MARKS = 1024

_INT8, _INT16, _INT32 = (Format(code).unpack_from for code in (">b", ">h", ">i"))


class Route:
    """One version of a message, and what walks of its bodies need to know of it."""

    __slots__ = ("_fields", "_inner", "_skipped", "layout", "may_be_cut")

    def __init__(self, message: Message, version: int) -> None:
        self.layout = Layout(message, version)
        self.may_be_cut = message.kind is MessageKind.RESPONSE
        self._fields: dict[Struct, list[Field]] = {}
        self._inner: dict[tuple[str, int], Route] = {}
        self._skipped: dict[Primitive | Struct, int] = {}

    def plain_fields(self, of: Struct) -> list[Field]:
        """`Layout.plain_fields`, made once."""
        found = self._fields.get(of)
        if found is None:
            found = self._fields[of] = self.layout.plain_fields(of)
        return found

    def skipped(self, element: Primitive | Struct) -> int:
        """Bytes of each element of an array of which nothing is to be seen; 0 where they must be walked."""
        found = self._skipped.get(element)
        if found is None:
            size = None if has_errors(element) else self.layout.fixed_size(element)
            found = self._skipped[element] = size or 0
        return found

    def inner(self, name: str, version: int) -> "Route":
        """That of a payload. Raises ValueError for a version it does not have."""
        found = self._inner.get((name, version))
        if found is None:
            message = payload(name)
            if version not in message.versions:
                raise ValueError("a payload of an unknown version")
            found = self._inner[name, version] = Route(message, version)
        return found


class Walk:
    """Goes over the body at `offset`.

    Its constructor raises ValueError, IndexError or struct.error where the bytes are not exactly one body, or
    more than a walk is needed: for most payloads, for batches that are not right, for very many elements.

    `errors` are the distinct error codes that are not zero, in order of appearance; `batches` counts those of
    records. `marks` are place and width of all that decides where fields stand and what stands in `errors`:
    lengths, counts, markers, tags, error codes, types of groups. Before the first `head` of them nothing
    stands of which the length is free (None: before none of them). `records` are those that are not empty:
    the number of marks before their length, and where they end.
    """

    __slots__ = (
        "_at",
        "_data",
        "_group",
        "_layout",
        "_route",
        "batches",
        "errors",
        "head",
        "marks",
        "records",
    )

    def __init__(self, route: Route, data: bytes, offset: int) -> None:
        self._route = route
        self._layout = route.layout
        self._data = data
        self._at = offset
        self._group = b""
        self.errors: dict[int, None] = {}
        self.batches = 0
        self.head: int | None = None
        self.records: list[tuple[int, int]] = []
        self.marks: list[tuple[int, int]] = []
        self._struct(route.layout.message.root)
        if self._at != len(data):
            raise ValueError("bytes left over, or missing")

    def _mark(self, width: int) -> None:
        if len(self.marks) >= _MOST_MARKS:
            raise ValueError("too much for a walk")
        self.marks.append((self._at, width))
        self._at += width

    def _struct(self, of: Struct) -> None:
        for field in self._route.plain_fields(of):
            self._field(field, tagged=False)
        if self._layout.flexible:
            self._tags(of)

    def _field(self, field: Field, tagged: bool) -> None:
        kind = field.type
        if isinstance(kind, Array):
            self._array(field, kind.element)
        elif isinstance(kind, Struct):
            if not self._layout.is_nullable(field) or not self._is_null(tagged):
                self._struct(kind)
        elif field.is_error:
            self._error()
        elif kind in FIXED:
            self._at += FIXED[kind][1]
        else:
            self._variable(field, kind, self._layout.is_compact(field), self._layout.is_nullable(field))

    def _error(self) -> None:
        code = _INT16(self._data, self._at)[0]
        self._mark(2)
        if code:
            self.errors[code] = None

    def _is_null(self, tagged: bool) -> bool:
        if tagged:
            return self._varint() < 1
        (marker,) = _INT8(self._data, self._at)
        self._mark(1)
        return is_null_marker(marker)

    def _varint(self) -> int:
        value, count = self._data[self._at], 0
        if value > 127:
            value, count = more_varint(self._data, self._at + 1, value)
        self._mark(1 + count)
        return value

    def _length(self, compact: bool, short: bool, nullable: bool) -> int:
        """Length or count of what comes; -1 for null. `short` ones take two bytes where they are not
        compact."""
        if compact:
            length = self._varint() - 1
        else:
            (length,) = (_INT16 if short else _INT32)(self._data, self._at)
            self._mark(2 if short else 4)
        if length < (-1 if nullable else 0):
            raise ValueError("negative length")
        return int(length)

    def _variable(self, field: Field, kind: Primitive, compact: bool, nullable: bool) -> None:
        length = self._length(compact, kind is Primitive.STRING, nullable)
        if length <= 0:
            return
        if self.head is None:
            self.head = len(self.marks) - (kind is Primitive.RECORDS)
        if field.payload:
            self._payload(field.payload, self._at + length)
            return
        if field.name == _PROTOCOL_TYPE:
            self._group = self._data[self._at : self._at + length]
            self._mark(length)
            return
        start, self._at = self._at, self._at + length
        if kind is Primitive.RECORDS:
            if self._at > len(self._data):
                raise ValueError("cut")
            self.records.append((len(self.marks) - 1, self._at))
            self.batches += count_batches(self._data, start, self._at, self._route.may_be_cut)

    def _payload(self, place: str, end: int) -> None:
        """Bytes up to `end` that exactly fit what consumers tell each other, which is also how those are
        recognised where the type of the group is not told."""
        name = _OF_CONSUMERS.get(place)
        if name is None or self._group not in (b"", _CONSUMER):
            raise ValueError("a payload to be decoded")
        (version,) = _INT16(self._data, self._at)
        self._mark(2)
        around = self._route
        self._route = around.inner(name, version)
        self._layout = self._route.layout
        self._struct(self._layout.message.root)
        self._route, self._layout = around, around.layout
        if self._at != end:
            raise ValueError("a payload of another size")

    def _array(self, field: Field, element: Primitive | Struct) -> None:
        layout = self._layout
        count = self._length(layout.flexible, False, layout.is_nullable(field))
        size = self._route.skipped(element)
        if size:
            if self.head is None and count > 0:
                self.head = len(self.marks)
            self._at += max(count, 0) * size
            return
        if count > len(self._data) - self._at:  # every element takes a byte at least
            raise ValueError("more elements than bytes")
        for _ in range(count):
            if isinstance(element, Struct):
                self._struct(element)
            else:  # never null (Apache Kafka's generated readers refuse it)
                self._variable(field, element, layout.flexible, nullable=False)

    def _tags(self, of: Struct) -> None:
        count = self._varint()
        if not count:
            return
        known = {field.tag: field for field in self._layout.tagged_fields(of)}
        for _ in range(count):
            tag, size = self._varint(), self._varint()
            stop = self._at + size
            if tag in known:
                self._field(known[tag], tagged=True)
                if self._at != stop:
                    raise ValueError("a tagged field of another size")
            self._at = stop


def has_errors(of: Type) -> bool:
    """Whether a type has error codes in it."""
    if isinstance(of, Struct):
        return any(field.is_error or has_errors(field.type) for field in of.fields)
    return isinstance(of, Array) and has_errors(of.element)
