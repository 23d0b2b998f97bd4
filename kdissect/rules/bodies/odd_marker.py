"""BDY016: the marker before a nullable struct should be -1 or 1 (0 or 1 in a tag)."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Level
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class OddMarker(NodeRule):
    """The marker before a nullable struct should be -1 or 1 (0 or 1 in a tag).

    Java takes any negative byte for null and any other for a struct.

    Example: `02` before a cursor.

    What to do: write 1 before a struct, -1 for null.
    """

    code = "BDY016"
    name = "odd-struct-marker"
    level = Level.SHOULD
    cites = ("org.apache.kafka.message.MessageDataGenerator",)
    nodes = (pieces.MARKER,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """The marker's value."""
        allowed = (0, 1) if node.type == "uvarint" else (-1, 1)
        if node.value not in allowed:
            yield Fault(f"{allowed[0]} or {allowed[1]}", str(node.value))
