"""Bytes to a tree in which every node knows its bytes: for people, evidence, and naming what does not fit.

Interprets the schema. It is ten times slower than `compiled`, and equal to it in every value. On an error it
keeps what it has.
"""

from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders import quirks
from kdissect.decoders.as_json.jsonable import text_or_bytes
from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.cursor import Cursor
from kdissect.decoders.generated.struct_layout import FIXED, Layout
from kdissect.decoders.generated.values import CutRecords, Value, present, value_class
from kdissect.decoders.trees.node import TAG_SECTION, Node
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.wording import plural
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

# Every element takes a byte at least, so a body of n bytes makes at most about 4 n nodes, whatever its counts
# say.


def dissect(message: Message, version: int, data: bytes, offset: int = 0, *, enter: bool = False) -> Node:
    """Return the tree of a message in one version that starts at `offset`. Raises nothing for bytes that do
    not fit.

    Then `error` of the root names path, offset and reason, and the nodes around that place have it too. Bytes
    after the message are no error: compare `end` with `len(data)`. `enter`: read the existing elements of an
    array that has more elements than are possible; otherwise none.
    """
    return _Dissector(layout_of(message, version), data, offset, _NODES, enter).root()


def locate(
    message: Message, version: int, data: bytes, offset: int = 0, trust_counts: bool = False
) -> DecodeError | None:
    """Return the error `dissect` would find, without the memory for a tree. None if the bytes fit.

    `trust_counts`: elements are read although the bytes left are too few for all of them, until they end.
    """
    return _Dissector(layout_of(message, version), data, offset, _NOTHING, False, trust_counts).root().error


class Part(NamedTuple):
    """A message as far as its bytes go: `stop` is the path of the first piece that does not fit, or empty."""

    message: Message
    value: Value
    stop: str


def decode_part(message: Message, version: int, data: bytes, offset: int = 0, *, enter: bool = True) -> Part:
    """Return the value that the tree of `dissect` has, without the memory for a tree. Raises nothing."""
    dissector = _Dissector(layout_of(message, version), data, offset, _VALUES, enter)
    return Part(message, dissector.root().value, dissector.stop)


@lru_cache(maxsize=CACHE_SIZE)
def layout_of(message: Message, version: int) -> Layout:
    """Return the layout of a message in a version, always the same object while it is kept."""
    return Layout(message, version)


_NOTHING, _VALUES, _NODES = range(3)  # what the dissector stores


class _Dissector:
    """Walks the schema along the bytes. `_open` are the nodes being filled, outermost first.

    Unless all nodes are stored, they are dropped as soon as they are filled: a tree uses some hundred times
    the memory of its bytes, which is too much for the position of an error in a large body.
    """

    def __init__(
        self, layout: Layout, data: bytes, offset: int, kept: int, enter: bool, trust_counts: bool = False
    ) -> None:
        self._layout = layout
        self._cursor = Cursor(data, offset)
        self._keep = kept == _NODES
        self._keep_values = kept != _NOTHING
        self._enter = enter
        self._trust_counts = trust_counts
        self._open: list[Node] = []
        self.stop = ""

    def root(self) -> Node:
        message = self._layout.message
        node = Node(message.name, message.root.name, self._cursor.offset)
        self._open.append(node)
        try:
            self._struct(node, message.root)
        except DecodeError as error:
            self._abandon(error)
        else:
            self._close(node)
        return node

    def _abandon(self, fault: DecodeError, depth: int = 0) -> None:
        """Close what is open below a depth, each node with the error and its path."""
        path = ""
        for node in self._open:
            path += node.name if node.name.startswith("[") or not path else "." + node.name
        self.stop = self.stop or path
        error = DecodeError(path, fault.offset, fault.why, fault.kind)
        for node in self._open[depth:]:
            node.end = self._cursor.offset
            node.error = error
        del self._open[depth:]

    # Nodes.

    def _begin(self, parent: Node, name: str, type_name: str, field: Field | None = None) -> Node:
        node = Node(name, type_name, self._cursor.offset, field)
        if self._keep:
            parent.children.append(node)
        self._open.append(node)
        return node

    def _close(self, node: Node) -> None:
        node.end = self._cursor.offset
        self._open.pop()

    def _leaf(self, parent: Node, name: str, type_name: str, start: int, value: object) -> None:
        """Add a leaf for a part that was read already: a length, a marker, the content of a string."""
        if self._keep:
            node = Node(name, type_name, start)
            node.end = self._cursor.offset
            node.value = value
            parent.children.append(node)

    # Structs and fields.

    def _struct(self, node: Node, of: Struct) -> None:
        value = value_class(self._layout.message, of)()
        node.value = value
        for field in self._layout.plain_fields(of):
            self._field(node, value, field, tagged=False)
        if self._layout.flexible:
            self._tag_section(node, value, of)

    def _field(self, parent: Node, owner: Value, field: Field, tagged: bool) -> None:
        node = self._begin(parent, field.name, self._layout.type_name(field, field.type), field)
        kind = field.type
        try:
            if isinstance(kind, Struct) and self._layout.is_nullable(field):
                self._nullable_struct(node, kind, tagged)
            else:
                self._value(node, field, kind, self._layout.is_nullable(field))
        except DecodeError:
            if node.value is not None:  # what was read of it
                setattr(owner, field.name, node.value)
            raise
        setattr(owner, field.name, node.value)
        self._close(node)

    def _value(self, node: Node, field: Field, kind: Type, nullable: bool) -> None:
        if isinstance(kind, Struct):
            self._struct(node, kind)
        elif isinstance(kind, Array):
            self._array(node, field, kind, nullable)
        elif kind in FIXED:
            node.value = self._cursor.pull_fixed(*FIXED[kind], kind)
        else:
            self._variable(node, field, kind, nullable)

    def _nullable_struct(self, node: Node, of: Struct, tagged: bool) -> None:
        start = self._cursor.offset
        marker = self._cursor.pull_uvarint() if tagged else self._cursor.pull_int8()
        self._leaf(node, "marker", "uvarint" if tagged else "int8", start, marker)
        is_null = marker == 0 if tagged else quirks.is_null_marker(marker)
        if not is_null:
            self._struct(node, of)

    # Lengths.

    def _length(self, node: Node, name: str, compact: bool, wide: bool, nullable: bool) -> int:
        """Pull a length or count; -1 is null.

        Raises for a forbidden null and for other negative numbers.
        """
        start = self._cursor.offset
        if compact:
            length = self._cursor.pull_uvarint() - 1
            kind = "uvarint"
        else:
            length = self._cursor.pull_int32() if wide else self._cursor.pull_int16()
            kind = "int32" if wide else "int16"
        if length < -1:
            raise self._cursor.fault(f"{name} {length} is negative", start, FaultKind.NEGATIVE)
        if length == -1 and not nullable:
            raise self._cursor.fault("null is not allowed", start, FaultKind.NULL)
        self._leaf(node, name, kind, start, length)
        return length

    def _variable(self, node: Node, field: Field, kind: Primitive, nullable: bool) -> None:
        is_text = kind is Primitive.STRING
        length = self._length(node, "length", self._layout.is_compact(field), not is_text, nullable)
        if length < 0:
            return
        start = self._cursor.offset
        if kind is Primitive.RECORDS and self._enter and length > self._cursor.end - start:
            self._cut_records(node, start, length)
        content = self._cursor.pull_bytes(length, kind)
        node.value = text_or_bytes(content) if is_text else content
        self._leaf(node, "content", kind, start, node.value)

    def _cut_records(self, node: Node, start: int, length: int) -> None:
        """Read records of which not all bytes are there: batches before the cut are whole. Raises."""
        left = self._cursor.end - start
        node.value = content = CutRecords(self._cursor.pull_bytes(left, node.type))
        content.size = length
        self._leaf(node, "content", Primitive.RECORDS, start, content)
        why = f"{Primitive.RECORDS} of {plural(length, 'byte')} runs past the end, {left} left"
        raise self._cursor.fault(why, start, FaultKind.LENGTH)

    def _array(self, node: Node, field: Field, kind: Array, nullable: bool) -> None:
        start = self._cursor.offset
        count = self._length(node, "count", self._layout.flexible, True, nullable)
        if count < 0:
            return
        node.value = []
        left = self._cursor.end - self._cursor.offset
        # At least a byte each: what takes none would be read as often as the bytes say.
        least = 1 if self._trust_counts else self._layout.min_element(kind.element)
        if count * least <= left:
            self._elements(node, field, kind.element, count)
            return
        if self._enter and left:
            depth = len(self._open)
            try:
                self._elements(node, field, kind.element, count)
            except DecodeError as error:
                self._abandon(error, depth)
        why = f"{plural(count, 'element does', 'elements do')} not fit the {plural(left, 'byte')} left"
        raise self._cursor.fault(why, start, FaultKind.LENGTH)

    def _elements(self, node: Node, field: Field, of: Primitive | Struct, count: int) -> None:
        values = node.value
        for index in range(count):
            element = self._begin(node, f"[{index}]", self._layout.type_name(field, of), field)
            try:
                self._value(element, field, of, nullable=False)
            except DecodeError:
                if isinstance(element.value, Value) and any(present(element.value)):  # what was read of it
                    values.append(element.value)
                raise
            if self._keep_values:
                values.append(element.value)
            self._close(element)

    # Tag sections (KIP-482).

    def _tag_section(self, parent: Node, owner: Value, of: Struct) -> None:
        section = self._begin(parent, TAG_SECTION, "tags")
        start = self._cursor.offset
        count = self._cursor.pull_uvarint()
        self._leaf(section, "count", "uvarint", start, count)
        section.value = count
        known = {field.tag: field for field in self._layout.tagged_fields(of)}
        for _ in range(count):
            self._tag(section, owner, known)
        self._close(section)

    def _tag(self, section: Node, owner: Value, known: dict[int | None, Field]) -> None:
        node = self._begin(section, "tag", "tag")
        start = self._cursor.offset
        tag = self._cursor.pull_uvarint()
        self._leaf(node, "tag", "uvarint", start, tag)
        node.name = f"tag {tag}"
        node.value = tag
        start = self._cursor.offset
        size = self._cursor.pull_uvarint()
        self._leaf(node, "size", "uvarint", start, size)
        if tag in known:
            self._tagged_field(node, owner, known[tag], size)
        else:
            start = self._cursor.offset
            content = self._cursor.pull_bytes(size, f"unknown tag {tag}")
            if self._keep_values:
                owner.keep_tag(tag, content)
            self._leaf(node, "content", "bytes", start, content)
        self._close(node)

    def _tagged_field(self, node: Node, owner: Value, field: Field, size: int) -> None:
        start = self._cursor.offset
        self._field(node, owner, field, tagged=True)
        taken = self._cursor.offset - start
        if taken != size:
            why = f"tag {field.tag} ({field.name}) takes {plural(taken, 'byte')}, its size says {size}"
            raise self._cursor.fault(why, start, FaultKind.TAG_SIZE)
