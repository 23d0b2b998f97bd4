"""Building the tree of a payload that is text: its parts are cut by hand, what they mean the schema says."""

from typing import Any

from kdissect.decoders.as_json.jsonable import text_or_bytes
from kdissect.decoders.generated.values import Value, value_class
from kdissect.decoders.payloads.payload import Tree
from kdissect.decoders.trees.node import Node
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Field, Struct

_EXTENSIONS = "extensions"


class Parts:
    """Takes the parts of a `text` message in the order of the bytes.

    A part's span begins where the last one ended: separators belong to the parts.
    """

    def __init__(self, name: str, data: bytes, start: int) -> None:
        self._message = protocol_messages.payload(name)
        self._data = data
        self._root = Node(name, "payload", start)
        self._value: Value = value_class(self._message, self._message.root)()
        self._root.value = self._value
        self._extensions: Node | None = None

    def text(self, name: str, end: int, content: slice) -> None:
        """Add the next part, which ends at `end`; its text is `content` of the data."""
        self.add(name, end, text_or_bytes(self._data[content]))

    def add(self, name: str, end: int, item: Any) -> None:
        """Add the next part, which ends at `end` and is `item`."""
        field = self._field(name)
        _node(self._root, name, str(field.type), end, field).value = item
        setattr(self._value, name, item)
        self._extensions = None

    def skip(self, end: int) -> None:
        """Separators up to `end`."""
        if end > self._root.end:
            _node(self._root, "marker", "separator", end)

    def extension(self, end: int, key: slice, content: slice) -> None:
        """Add the next part, a key and a value for which the format has no name."""
        field = self._field(_EXTENSIONS)
        of = field.type.element if isinstance(field.type, Array) else field.type
        assert isinstance(of, Struct)
        if self._extensions is None:
            self._extensions = _node(self._root, _EXTENSIONS, f"[]{of.name}", self._root.end, field)
            self._extensions.value = []
        value = value_class(self._message, of)()
        for name, part in zip(("name", "value"), (key, content), strict=True):
            setattr(value, name, text_or_bytes(self._data[part]))
        node = _node(
            self._extensions, f"[{len(self._extensions.value)}]", of.name, self._extensions.end, field
        )
        node.value = value
        for inner, stop in zip(of.fields, (content.start, end), strict=True):
            _node(node, inner.name, "string", stop, inner).value = getattr(value, inner.name)
        self._extensions.value.append(value)
        self._extensions.end = self._root.end = end
        setattr(self._value, _EXTENSIONS, [*getattr(self._value, _EXTENSIONS, ()), value])

    def _field(self, name: str) -> Field:
        return next(field for field in self._message.root.fields if field.name == name)

    def tree(self) -> Tree:
        """Return the tree of the parts."""
        return Tree(self._root)


def _node(parent: Node, name: str, kind: str, end: int, field: Field | None = None) -> Node:
    """Return a child from the end of the last one to `end`."""
    node = Node(name, kind, parent.end, field)
    node.end = parent.end = end
    parent.children.append(node)
    return node
