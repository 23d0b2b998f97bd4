"""A tree as lines of text: spans, names, types, values."""

from collections.abc import Callable, Iterator
from typing import Any

from kdissect.decoders.as_json.jsonable import uuid_text
from kdissect.decoders.generated.values import CutRecords, Value
from kdissect.decoders.trees.masking import secret_nodes
from kdissect.decoders.trees.node import TAG_SECTION, Node
from kdissect.model.wording import plural
from kdissect.schema.enums import enum_name
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.schema.secrets import MASK
from kdissect.schema.types import Array, Primitive, Struct, Type

TopicName = Callable[[bytes], str | None]
MAX_BYTES_SHOWN = 32  # of a bytes field (the span shows where it ends)
API_FIELDS = frozenset({"api_key", "request_api_key"})  # their values are APIs
MAX_JSON_SHOWN = 400  # characters of a value that is no field
# nodes that a value's own line already covers
_PLUMBING = frozenset({"length", "count", "content", "marker"})


def render(
    node: Node,
    data: bytes,
    *,
    show_secrets: bool = False,
    show_lengths: bool = False,
    topic_name: TopicName | None = None,
) -> Iterator[str]:
    """Lines `start..end  name: type = value`, children indented below their parent; `end` is excluded.

    Lengths and empty tag sections are left out unless `show_lengths`. Secrets are masked unless
    `show_secrets`. Text from the wire is quoted with control characters escaped, so that it cannot affect a
    terminal. `topic_name` returns the name of a topic id.
    """
    width = len(str(len(data)))
    secret = frozenset() if show_secrets else secret_nodes(node)
    yield from TreeText(secret, show_lengths, topic_name, width).lines(node, 0)


def quote(text: str) -> str:
    r"""Return text in double quotes. Characters that do not print become `\xNN`, `\uNNNN` or `\UNNNNNNNN`."""
    shown = "".join(
        character if character.isprintable() and character not in '"\\' else _escape(character)
        for character in text
    )
    return f'"{shown}"'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class TreeText:
    """Texts of a tree's nodes, in lines or one by one. `secret` are the `id` of nodes to be masked."""

    def __init__(
        self,
        secret: frozenset[int],
        show_lengths: bool = False,
        topic_name: TopicName | None = None,
        width: int = 0,
    ) -> None:
        self._topic_name = topic_name
        self._width = width
        self._secret = secret
        self._show_lengths = show_lengths

    def lines(self, node: Node, depth: int) -> Iterator[str]:
        """Yield the lines of a node and all below it."""
        yield self._line(node, depth)
        error = node.own_error
        if error is not None:
            margin = " " * (2 * self._width + 4) + "  " * (depth + 1)
            yield f"{margin}! {error.why} at byte {error.offset}"
        for child in node.children:
            if self.is_shown(node, child):
                yield from self.lines(child, depth + 1)

    def is_shown(self, parent: Node, child: Node) -> bool:
        """Return whether a child has a line of its own."""
        if self._show_lengths or child.error:
            return True
        if child.name == TAG_SECTION and child.type == "tags":
            return bool(child.value)
        if parent.type == "tag":
            return child.field is not None or child.name == "content"
        return child.field is not None or child.name not in _PLUMBING

    def _line(self, node: Node, depth: int) -> str:
        w = self._width
        span = f"{node.start:>{w}}..{node.end:<{w}}"
        value = self.value(node)
        return f"{span}  {'  ' * depth}{node.name}: {node.type}{' = ' if value else ''}{value}"

    def value(self, node: Node) -> str:
        """Return the text after the name and type of a node; empty without one."""
        if node.error and node.value is None:
            return ""
        if id(node) in self._secret and node.value is not None:
            return MASK
        if node.field is None:
            return "" if node.children or isinstance(node.value, Value) else _plain(node.value)
        return self._field_value(node)

    def _field_value(self, node: Node) -> str:
        assert node.field is not None
        kind: Type = node.field.type
        if node.value is None:
            return "null"
        if isinstance(kind, Array):
            if isinstance(node.value, list):
                return _count(node)
            kind = kind.element
        if isinstance(kind, Struct):
            return ""
        if kind is Primitive.UUID:
            return uuid_text(node.value) + self._name_of_topic(node)
        if kind is Primitive.RECORDS:
            return _size(node.value)
        return _plain(node.value) + _meaning(node)

    def _name_of_topic(self, node: Node) -> str:
        if self._topic_name is None or node.field is None or node.field.entity != "topicId":
            return ""
        name = self._topic_name(bytes(node.value)) if any(node.value) else None
        return "" if name is None else f" ({quote(name)})"


def _count(node: Node) -> str:
    """Return the count on the wire: there may be fewer elements."""
    length = next((child.value for child in node.children if child.name == "count"), len(node.value))
    return plural(length, "element")


def _size(records: bytes) -> str:
    if isinstance(records, CutRecords):
        if records.size is None:
            return "not here, of a size that is not known"
        return f"{plural(records.size, 'byte')}, {len(records)} of them here"
    return plural(len(records), "byte")


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes | memoryview):
        shown = bytes(value[:MAX_BYTES_SHOWN]).hex(" ")
        more = f" ... ({plural(len(value), 'byte')})" if len(value) > MAX_BYTES_SHOWN else ""
        return f"{shown}{more}" if len(value) else "empty"
    if isinstance(value, dict | list):
        return _json(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _json(value: Any) -> str:
    from json import dumps  # only payloads that are JSON or telemetry have such values

    text = dumps(value, ensure_ascii=True)
    return text if len(text) <= MAX_JSON_SHOWN else f"{text[:MAX_JSON_SHOWN]} ..."


def _meaning(node: Node) -> str:
    """Return the name of an error code, an enumerated value or an API."""
    field = node.field
    if field is None or not isinstance(node.value, int | str):
        return ""
    name = None
    if field.is_error:
        name = error_name(int(node.value))
    elif field.enum:
        name = enum_name(field.enum, node.value)
    elif field.name in API_FIELDS:
        name = api_name(int(node.value))
    return f" ({name})" if name else ""
