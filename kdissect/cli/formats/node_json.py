"""A tree of nodes as JSON: what `kdissect decode --format json` prints."""

import json
from collections.abc import Sequence
from typing import Any

from kdissect.decoders.as_json.jsonable import bytes_value, float_value, uuid_text
from kdissect.decoders.generated.values import Value
from kdissect.decoders.trees.masking import secret_nodes
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError
from kdissect.schema.secrets import MASK
from kdissect.schema.types import Primitive


def node_json(node: Node, errors: Sequence[DecodeError], size: int, show_secrets: bool) -> bytes:
    """`{bytes, errors, tree}`.

    A node is `{name, type, start, end}` with `value` or `children`; `end` is excluded.
    """
    told = [{"path": error.path, "offset": error.offset, "why": error.why} for error in errors]
    secret = frozenset() if show_secrets else secret_nodes(node)
    document = {"bytes": size, "errors": told, "tree": _node(node, secret)}
    return json.dumps(document, indent=2, ensure_ascii=True).encode() + b"\n"


def _node(node: Node, secret: frozenset[int]) -> dict[str, Any]:
    told: dict[str, Any] = {"name": node.name, "type": node.type, "start": node.start, "end": node.end}
    if node.error is not None:
        told["error"] = node.error.why
    children = [
        child for child in node.children if child.field is not None or child.children or _stands_alone(child)
    ]
    if id(node) in secret:
        told["value"] = None if node.value is None else MASK
    elif not children and not isinstance(node.value, Value | list):
        told["value"] = _value(node)
    if children or "value" not in told:
        told["children"] = [_node(child, secret) for child in children]
    return told


def _stands_alone(child: Node) -> bool:
    """Whether a node without a field says something: the lengths and contents of a string do not."""
    return child.name not in ("length", "count", "content", "marker")


def _value(node: Node) -> Any:
    value = node.value
    if isinstance(value, bytes | memoryview):
        kind = None if node.field is None else node.field.type
        if kind is Primitive.RECORDS:  # as in bodies; records of Kafka's own logs hold secrets
            return {"bytes": len(value)}
        return uuid_text(bytes(value)) if kind is Primitive.UUID else bytes_value(value)
    if isinstance(value, float):
        return float_value(value)
    return value
