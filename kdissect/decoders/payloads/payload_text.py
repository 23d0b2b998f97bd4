"""Payloads as text in the tree of their frame, for the native engine, which writes all other lines."""

from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import Value
from kdissect.decoders.payloads.envelope import InnerRequest, InnerResponse, inner_api
from kdissect.decoders.payloads.nesting import find, nest_content
from kdissect.decoders.payloads.scope import Facts, Scope
from kdissect.decoders.trees.frame_text import tree_text
from kdissect.decoders.trees.masking import may_be_misread, secret_nodes
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import layout_of
from kdissect.decoders.trees.tree_text import TopicName, TreeText
from kdissect.schema.types import Array, Field, Message, Struct

Path = list[tuple[int, bool | None]]
"""Indices of fields, each with whether it is a tag, and of elements, with None."""


class PayloadText(NamedTuple):
    """Writer of the payloads in one frame. `body` returns the decoded body, or None if it does not fit."""

    message: Message
    version: int
    data: bytes
    facts: Facts
    body: Callable[[], Value | None]
    topic_name: TopicName
    margin: str
    show_secrets: bool

    def text(self, path: Path, start: int, end: int, depth: int) -> bytes | None:
        """Return the text after the name of a bytes field, and the lines below it, at a depth.

        None if something in it is odd: then all of the frame may be secret.
        """
        root = self.body()
        if root is None:
            return None
        field, chain = _place(layout_of(self.message, self.version), root, path)
        node = Node(field.name, "bytes", start, field)
        node.end, node.value = end, self.data[start:end]
        content = Node("content", "bytes", start)
        content.end, content.value = end, node.value
        node.children.append(content)
        scope = Scope(self.facts).inside(chain)
        inner = self._inner(field, scope, start, end, depth)
        if inner is None and field.payload:
            nest_content(node, field.payload, self.data, scope)
            if may_be_misread(node):
                return None
        secret = frozenset() if self.show_secrets else secret_nodes(node)
        texts = TreeText(secret, topic_name=self.topic_name, width=len(str(len(self.data))))
        value = f" = {texts.value(node)}".encode("utf-8", "replace")
        if inner is not None:
            return value + b"\n" + inner.removesuffix(b"\n")
        shown = [child for child in node.children if texts.is_shown(node, child)]
        lines = [f"\n{self.margin}{line}" for child in shown for line in texts.lines(child, depth)]
        return value + "".join(lines).encode("utf-8", "replace")

    def _inner(self, field: Field, scope: Scope, start: int, end: int, depth: int) -> bytes | None:
        """Return the lines of a frame inside; None if there is none, or if it is not ordinary."""
        found = find(field.payload, self.data, start, end, scope) if field.payload in _FRAMES else None
        if isinstance(found, InnerResponse):
            inner: tuple[int, int] | None = (found.api_key, found.api_version)
        else:
            inner = inner_api(self.data[start:end]) if isinstance(found, InnerRequest) else None
        if inner is None:
            return None
        writer = tree_text(*inner, isinstance(found, InnerResponse), self.margin, self.show_secrets)
        if writer is None:
            return None
        return writer.text(self.data, (start, end, depth), self.topic_name, _left)


_FRAMES = frozenset({"request", "response"})
"""Payloads that are frames."""


def _left(_path: Path, _start: int, _end: int, _depth: int) -> None:
    """Leave a payload inside of a payload to the general way."""


def _place(layout: Layout, root: Value, path: Path) -> tuple[Field, tuple[Value, ...]]:
    """Return the field at the end of a path, and the structs around it, outermost first."""
    at: Any = root
    of, chain = layout.message.root, [root]
    for index, is_tag in path:
        if is_tag is None:
            at = at[index]
        else:
            field = (layout.tagged_fields(of) if is_tag else layout.plain_fields(of))[index]
            at = getattr(at, field.name)
            kind = field.type.element if isinstance(field.type, Array) else field.type
            of = kind if isinstance(kind, Struct) else of
        if isinstance(at, Value):
            chain.append(at)
    return field, tuple(chain)
