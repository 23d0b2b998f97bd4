"""Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding), read with a table of messages.

No library: a generated module for the eight messages that Kafka sends costs 60 ms of import, this costs none.
"""

import struct
from typing import Any, NamedTuple

from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from kdissect.model.wording import plural

MAX_NESTING = 32  # AnyValue nests in itself, and protobuf's own readers stop at 100
MAX_VARINT = 10  # bytes of 64 bits, 7 at a time
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_WIDTH = {_FIXED64: 8, _FIXED32: 4}
_FORMATS = {"double": "<d", "fixed64": "<Q", "sfixed64": "<q", "fixed32": "<I", "float": "<f"}
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

        Fields the table does not know are left out. Raises DecodeError.
        """
        if depth > MAX_NESTING:
            raise DecodeError(name, start, f"nested deeper than {MAX_NESTING}")
        out: dict[str, Any] = {}
        at = start
        while at < end:
            begin = at
            tag, at = self._varint(at, end)
            number, wire = tag >> 3, tag & 7
            content, at = self._content(wire, at, end)
            part = self._messages[name].get(number)
            child = _child(node, part, number, begin, at)
            if part is None:
                continue
            item = self._item(part, wire, content, child, depth)
            if child is not None and not child.children:
                child.value = item
            if part.repeated:
                out.setdefault(part.name, []).extend(item if isinstance(item, list) else [item])
            else:
                out[part.name] = item
        return out

    def _content(self, wire: int, at: int, end: int) -> tuple[slice, int]:
        """Return where the content of a field stands, and where the next field begins."""
        if wire == _VARINT:
            stop = self._varint(at, end)[1]
            return slice(at, stop), stop
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
        return slice(at, at + length), at + length

    def _item(self, part: Part, wire: int, content: slice, node: Node | None, depth: int) -> Any:
        if part.type in _FORMATS or part.type in _VARINTS:
            packed = wire == _BYTES
            values = self._scalars(part.type, content.start, content.stop)
            return values if packed else values[0]
        if wire != _BYTES:
            raise DecodeError(part.name, content.start, f"wire type {wire} is no {part.type}")
        if part.type == "string":
            return self._data[content].decode("utf-8", "backslashreplace")
        if part.type == "bytes":
            return self._data[content].hex()
        if node is not None:
            head = Node("length", "head", node.start)
            head.end = content.start
            node.children.append(head)
        return self.message(part.type, content.start, content.stop, node, depth + 1)

    def _scalars(self, kind: str, at: int, end: int) -> list[Any]:
        values: list[Any] = []
        while at < end:
            if kind in _FORMATS:
                size = struct.calcsize(_FORMATS[kind])
                if size > end - at:
                    raise DecodeError("", at, f"{kind} runs past the end")
                (value,) = struct.unpack_from(_FORMATS[kind], self._data, at)
                at += size
            else:
                value, at = self._varint(at, end)
                value = _typed(kind, value)
            values.append(value)
        return values or [0]

    def _varint(self, at: int, end: int) -> tuple[int, int]:
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


def _child(node: Node | None, part: Part | None, number: int, start: int, end: int) -> Node | None:
    if node is None:
        return None
    child = Node(part.name if part else f"field {number}", part.type if part else "unknown", start)
    child.end = end
    node.children.append(child)
    return child
