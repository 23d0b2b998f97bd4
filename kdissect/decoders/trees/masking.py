"""Which nodes of a tree must not show their bytes."""

from kdissect.decoders.generated.values import Value, holds_password
from kdissect.decoders.trees.node import Node
from kdissect.schema.secrets import is_beyond_reason, is_piece, is_secret

_IDS = frozenset({"correlation_id", "length", "count"})  # of four bytes at most, and readers need them

_PAYLOADS = frozenset({"payload", "frame"})  # types of nodes that stand for what the bytes hold


def secret_nodes(root: Node) -> frozenset[int]:
    """`id` of every node whose value is secret (`schema.secrets`), and of the contents below it.

    A payload inside of a secret field is not among them: its own fields are judged one by one.
    """
    found: set[int] = set()
    _look(root, False, found)
    return frozenset(found)


def _look(node: Node, sensitive: bool, found: set[int]) -> None:
    if isinstance(node.value, Value):
        # A password's synonyms are below it: they are secret by what the struct around them says.
        sensitive = sensitive or holds_password(node.value)
    if node.is_secret or (node.field is not None and is_secret(node.field, sensitive)):
        found.add(id(node))
        found.update(id(child) for child in node.children if child.type not in _PAYLOADS)
    for child in node.children:
        _look(child, sensitive, found)


def conceal_misread(root: Node, is_known: bool = True) -> None:
    """Mark as secret what may be one in a frame near secrets in which something is odd.

    A secret may have moved into any text, any bytes and any number of more than two bytes, including the
    header's. Unless the API `is_known` there may be no header at all.
    """
    for node in root.walk():
        if isinstance(node.value, Value | list) or (is_known and node.name in _IDS):
            continue  # parts are judged one by one
        if is_piece(node.value):
            node.is_secret = True


def may_be_misread(root: Node) -> bool:
    """Return whether a part of a tree does not fit, is beyond reason, or is under an unknown tag."""
    return any(map(_does_not_fit, root.walk()))


def _does_not_fit(node: Node) -> bool:
    if node.type == "tag":
        return any(child.name == "content" and child.field is None for child in node.children)
    return node.error is not None or node.name == "rest" or is_beyond_reason(node.value)
