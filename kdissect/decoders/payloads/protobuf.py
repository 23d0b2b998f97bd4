"""Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding), read with a table of messages.

No library: a generated module for the eight messages that Kafka sends costs 60 ms of import, this costs none.
"""

from struct import Struct
from typing import Any, NamedTuple

from kdissect.decoders.as_json.jsonable import float_value
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from kdissect.model.wording import plural

MAX_NESTING = 32  # AnyValue nests in itself, and protobuf's own readers stop at 100
MAX_VARINT = 10  # bytes of 64 bits, 7 at a time
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_FORMATS = {
    "double": Struct("<d"), "fixed64": Struct("<Q"), "sfixed64": Struct("<q"), "fixed32": Struct("<I"),
    "float": Struct("<f"),
}  # fmt: skip
_FLOATS = frozenset({"double", "float"})
_VARINTS = frozenset({"int64", "uint64", "uint32", "int32", "bool", "sint32"})


class Part(NamedTuple):
    """A field of a message: name, type (a scalar of protobuf or a message of the table), whether a list."""

    name: str
    type: str
    repeated: bool = False


Messages = dict[str, dict[int, Part]]


class Reader:
    """Reads messages of one table from one buffer."""

    def __init__(self, messages: Messages, data: bytes) -> None:
        self._messages = messages
        self._data = data

    def message(
        self, name: str, start: int, end: int, node: Node | None = None, depth: int = 0
    ) -> dict[str, Any]:
        """Return the message at `start` to `end` as a dict by field name, and fill `node` with its fields if
        given.

        Fields the table does not know are left out. NaN and infinities are strings in the dict, as in bodies.
        Raises DecodeError.
        """
        # Hot: metrics of a client have thousands of fields.
        if depth > MAX_NESTING:
            raise DecodeError(name, start, f"nested deeper than {MAX_NESTING}")
        out: dict[str, Any] = {}
        fields, at = self._messages[name], start
        while at < end:
            begin = at
            tag, at = self._varint(at, end)
            number, wire = tag >> 3, tag & 7
            first, at = self._content(wire, at, end)
            part = fields.get(number)
            child = None if node is None else _child(node, part, number, begin, at)
            if part is None:
                continue
            item = self._item(part, wire, first, at, child, depth)
            if child is not None and not child.children:
                child.value = item
            if part.type in _FLOATS:
                item = [*map(float_value, item)] if isinstance(item, list) else float_value(item)
            if part.repeated:
                out.setdefault(part.name, []).extend(item if isinstance(item, list) else [item])
            else:
                out[part.name] = item
        return out

    def _content(self, wire: int, at: int, end: int) -> tuple[int, int]:
        """Return where the content of a field begins and ends."""
        if wire == _VARINT:
            return at, self._varint(at, end)[1]
        if wire == _BYTES:
            length, at = self._varint(at, end)
        elif wire in _WIDTH:
            length = _WIDTH[wire]
        else:
            raise DecodeError("", at, f"there is no wire type {wire}")
        if length > end - at:
            raise DecodeError(
                "", at, f"{plural(length, 'byte runs', 'bytes run')} past the end, {end - at} left"
            )
        return at, at + length

    def _item(self, part: Part, wire: int, first: int, stop: int, node: Node | None, depth: int) -> Any:
        if part.type in _FORMATS or part.type in _VARINTS:
            values = self._scalars(part.type, first, stop)
            return values if wire == _BYTES else values[0]
        if wire != _BYTES:
            raise DecodeError(part.name, first, f"wire type {wire} is no {part.type}")
        if part.type == "string":
            return self._data[first:stop].decode("utf-8", "backslashreplace")
        if part.type == "bytes":
            return self._data[first:stop].hex()
        if node is not None:
            head = Node("length", "head", node.start)
            head.end = first
            node.children.append(head)
        return self.message(part.type, first, stop, node, depth + 1)

    def _scalars(self, kind: str, at: int, end: int) -> list[Any]:
        values: list[Any] = []
        form = _FORMATS.get(kind)
        while at < end:
            if form is not None:
                if form.size > end - at:
                    raise DecodeError("", at, f"{kind} runs past the end")
                (value,) = form.unpack_from(self._data, at)
                at += form.size
            else:
                value, at = self._varint(at, end)
                value = _typed(kind, value)
            values.append(value)
        return values or [0]

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        if at < end and self._data[at] < 0x80:  # as nearly all are
            return self._data[at], at + 1
        value = 0
        for count in range(MAX_VARINT):
            if at + count >= end:
                raise DecodeError("", at, "varint runs past the end")
            byte = self._data[at + count]
            value |= (byte & 0x7F) << 7 * count
            if byte < 0x80:
                return value & (1 << 64) - 1, at + count + 1
        raise DecodeError("", at, "varint does not fit 64 bits")


def _typed(kind: str, value: int) -> Any:
    if kind == "bool":
        return bool(value)
    if kind == "sint32":  # zigzag
        return value >> 1 ^ -(value & 1)
    if kind in ("int64", "int32") and value >> 63:
        return value - (1 << 64)
    return value


def _child(node: Node, part: Part | None, number: int, start: int, end: int) -> Node:
    child = Node(part.name if part else f"field {number}", part.type if part else "unknown", start)
    child.end = end
    node.children.append(child)
    return child
