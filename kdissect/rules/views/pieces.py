"""The sorts of pieces that node rules look at, and a walk over a body that names them."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.schema.domains import has_domain
from kdissect.schema.types import Primitive

VARINT = "varint"
BOOL = "bool"
MARKER = "marker"  # before a nullable struct
TAGS = "tags"  # a tag section
STRING = "string"
ENUM = "enum"
ERROR = "error"
UUID = "uuid"
THROTTLE = "throttle"  # throttle_time_ms
NUMBER = "number"  # with a domain (`schema.domains`)
SORTS = (VARINT, BOOL, MARKER, TAGS, STRING, ENUM, ERROR, UUID, THROTTLE, NUMBER)


def pieces(root: Node) -> Iterator[tuple[str, Node, str]]:
    """Sort, node and path (below the root) of every piece that some rule may look at."""
    stack = [(root, "")]
    while stack:
        node, path = stack.pop()
        sort = _sort(node)
        if sort:
            yield sort, node, path
        children = node.children
        for index in range(len(children) - 1, -1, -1):
            child = children[index]
            stack.append((child, _join(path, child.name)))


def sorts(root: Node) -> tuple[tuple[str, int], ...]:
    """Return the number of pieces of each sort, in the order of their first pieces."""
    often: dict[str, int] = {}
    stack = [root]
    while stack:  # as `pieces`, without paths: these are half of its time
        node = stack.pop()
        sort = _sort(node)
        if sort:
            often[sort] = often.get(sort, 0) + 1
        stack.extend(reversed(node.children))
    return tuple(often.items())


def _join(path: str, name: str) -> str:
    return path + name if name.startswith("[") or not path else f"{path}.{name}"


def _sort(node: Node) -> str:
    kind = node.type
    field = node.field
    if field is None:
        return _plain_sort(kind, node.name)
    if field.is_error:
        return ERROR
    if field.name == "throttle_time_ms":
        return THROTTLE
    if kind == Primitive.BOOL:  # also if its two values have names, as in EndTxn
        return BOOL
    if isinstance(node.value, int):
        if has_domain(field):
            return NUMBER
        if field.enum is not None:
            return ENUM
    if kind == Primitive.UUID:
        return UUID
    return STRING if kind in ("string", "compact string") else ""


def _plain_sort(kind: str, name: str) -> str:
    if name == "marker":
        return MARKER
    if kind == "uvarint":
        return VARINT
    return TAGS if kind == "tags" else ""
