"""A payload: what its bytes are laid out as, its value, its tree."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.wording import plural
from kdissect.schema.types import Message

Nest = Callable[[Node, bytes, Scope], None]
"""`(tree, data, scope)`: puts trees of payloads into a tree (`nesting.nest`). Raises nothing."""


class Payload(NamedTuple):
    """A decoded payload.

    `name` is that of its format (`ConsumerProtocolSubscription`), `version` what its bytes say, None for
    formats without one. `value` is an object of `values`, or plain JSON values; None if no value could be
    decoded. `error` describes what does not fit. `value` may then still be set.
    """

    name: str
    version: int | None
    value: Any
    error: DecodeError | None = None


class Layout(NamedTuple):
    """A payload that the schema describes: `version` of `message` from `offset` on.

    `said` is the version its bytes say. `odd` is the reason why the layout differs from the one they name.
    `may_trail`: bytes after it are legal.
    """

    message: Message
    version: int
    offset: int
    said: int | None = None
    odd: str = ""
    may_trail: bool = False

    def decode(self, data: bytes, end: int) -> Payload:
        """Return the value of the bytes up to `end`. Raises nothing."""
        name = self.message.name
        try:
            value, stop = decoder(self.message, self.version)(data[:end], self.offset)
        except DecodeError as error:
            return Payload(name, self.said, None, error)
        return Payload(name, self.said, value, self._fault(stop, end))

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return the tree of the bytes `start` to `end`. Raises nothing."""
        root = Node(self.message.name, "payload", start)
        if self.offset > start:
            head = Node("version", "prefix", start)
            head.end = self.offset
            head.value = self.said if self.said is not None else data[start : self.offset]
            root.children.append(head)
        body = dissect(self.message, self.version, data[self.offset : end])
        _move(body, self.offset)
        body.name = "body" if root.children else body.name
        root.children.append(body)
        root.value, root.error = body.value, body.error
        root.end = body.end
        if body.error is None:
            root.error = self._fault(body.end, end)
        return close(root, data, end)

    def _fault(self, stop: int, end: int) -> DecodeError | None:
        name = self.message.name
        if self.odd:
            return DecodeError(name, self.offset, self.odd)
        if stop < end and not self.may_trail:
            return DecodeError(name, stop, f"{plural(end - stop, 'byte')} left over")
        return None


def fits(message: Message, version: int, data: bytes, offset: int, end: int) -> bool:
    """Return whether the bytes `offset` to `end` are exactly one value of a version. Raises nothing."""
    try:
        return decoder(message, version)(data[offset:end], 0)[1] == end - offset
    except DecodeError:
        return False


def _move(root: Node, by: int) -> None:
    """Count a tree's offsets from the start of the frame, of which only these bytes were copied."""
    error = root.error
    if error is not None:
        error = DecodeError(error.path, error.offset + by, error.why)
    for node in root.walk():
        node.start += by
        node.end += by
        if node.error is not None:
            node.error = error


def close(root: Node, data: bytes, end: int) -> Node:
    """Make a tree fill its bytes: a last child covers the bytes that no child covers."""
    if root.end < end:
        rest = Node("rest", "bytes", root.end)
        rest.end = end
        rest.value = data[root.end : end]
        root.children.append(rest)
        root.end = end
    return root


class Tree(NamedTuple):
    """A payload that no schema lays out: its tree, made when found. Its value is that of the root."""

    root: Node

    def decode(self, data: bytes, end: int) -> Payload:
        """Return the value."""
        return Payload(self.root.name, None, self.root.value, self.root.error)

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return the tree."""
        return close(self.root, data, end)


class Plain(NamedTuple):
    """A payload that is a plain value: text, an address, metrics."""

    name: str
    value: Any
    error: DecodeError | None = None

    def decode(self, data: bytes, end: int) -> Payload:
        """Return the value."""
        return Payload(self.name, None, self.value, self.error)

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return one node."""
        node = Node(self.name, "payload", start)
        node.end = end
        node.value, node.error = self.value, self.error
        return node


class Found(Protocol):
    """Format of a payload's bytes, found before they are decoded."""

    def decode(self, data: bytes, end: int) -> Payload:
        """Return the value of the bytes up to `end`. Raises nothing."""

    def dissect(self, data: bytes, start: int, end: int, nest: Nest) -> Node:
        """Return the tree of the bytes `start` to `end`; payloads in a frame come from `nest`.

        Raises nothing.
        """


Finder = Callable[[bytes, int, int, Scope], Found | None]
"""`(data, start, end, scope)`: the meaning of the bytes, or None if it is not known. Raises nothing."""
