"""A piece of a message and the bytes that contain it."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.errors import DecodeError
from kdissect.schema.types import Field


class Node:
    """Bytes `start` to `end` (0-based, end excluded) of the buffer, and what they are.

    The spans of `children` follow each other without a hole and fill the span of their parent. `value` is the
    result of the compiled decoder: a `Value`, a list, a number ... `type` is for people (`int16`, `compact
    string`, `[]FetchTopic`). `field` is the schema's field, for fields. Where the bytes do not fit, `error`
    is set on the node they were meant for and on every node around it, and what was read before stays.
    `is_secret` marks bytes without a field that may contain secrets; `masking` finds other secrets.
    """

    __slots__ = ("children", "end", "error", "field", "is_secret", "name", "start", "type", "value")

    def __init__(self, name: str, type_name: str, start: int, field: Field | None = None) -> None:
        self.name = name
        self.type = type_name
        self.start = start
        self.end = start
        self.value: Any = None
        self.children: list[Node] = []
        self.error: DecodeError | None = None
        self.field = field
        self.is_secret = False

    def __repr__(self) -> str:
        return f"Node({self.name}: {self.type} {self.start}..{self.end})"

    @property
    def own_error(self) -> DecodeError | None:
        """The error, if no child has it."""
        return None if any(child.error is self.error for child in self.children) else self.error

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it, in the order of the bytes."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def find(self, path: str) -> "Node":
        """Return the node at a path below this one, as errors print it: `topics[2].name`. Raises KeyError."""
        node = self
        for name in path.replace("[", ".[").split("."):
            if name:
                node = node._child(name)
        return node

    def _child(self, name: str) -> "Node":
        for child in self.children:
            if child.name == name:
                return child
            if child.name == TAG_SECTION and name != TAG_SECTION:
                for tag in child.children:
                    for inner in tag.children:
                        if inner.name == name:
                            return inner
        raise KeyError(name)


class Decompressed(Node):
    """Content of compressed bytes: here and below spans count in `content`, not in the message."""

    __slots__ = ("content",)

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(name, "decompressed", 0)
        self.end = len(content)
        self.content = content


TAG_SECTION = "tagged_fields"  # as the protocol guide prints it
