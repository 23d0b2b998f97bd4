"""Rules: booleans, and the byte in front of a struct that may be null."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Level
from kdissect.rules.guards import NOT_CANONICAL
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body


class OddBoolean(NodeRule):
    """A boolean should be 0 or 1.

    Readers take any other byte for true; writers that copy memory show it.

    Example: `02` in a boolean.

    What to do: write 1 for true.
    """

    code = "BDY015"
    name = "odd-boolean"
    level = Level.SHOULD
    cites = ("org.apache.kafka.common.protocol.types.Type#BOOLEAN",)
    nodes = (pieces.BOOL,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """The byte."""
        byte = body.data[node.start]
        if byte > 1:
            yield Violation("00 or 01", f"{byte:02x}")


class OddMarker(NodeRule):
    """The marker before a nullable struct should be -1 or 1 (0 or 1 in a tag).

    Java takes any negative byte for null and any other for a struct.

    Example: `02` before a cursor.

    What to do: write 1 before a struct, -1 for null.
    """

    code = "BDY016"
    name = "odd-struct-marker"
    level = Level.SHOULD
    cites = ("org.apache.kafka.message.MessageDataGenerator#generateClassReader",)
    nodes = (pieces.MARKER,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """The marker's value."""
        allowed = (0, 1) if node.type == "uvarint" else (-1, 1)
        if node.value not in allowed:
            yield Violation(f"{allowed[0]} or {allowed[1]}", str(node.value))
