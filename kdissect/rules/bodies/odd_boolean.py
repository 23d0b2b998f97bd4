"""BDY015: A boolean should be 0 or 1."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Level
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class OddBoolean(NodeRule):
    """A boolean should be 0 or 1.

    Readers take any other byte for true; writers that copy memory show it.

    Example: `02` in a boolean.

    What to do: write 1 for true.
    """

    code = "BDY015"
    name = "odd-boolean"
    level = Level.SHOULD
    cites = ("org.apache.kafka.common.protocol.types.Type", "spec/000 Fixed Width Primitives")
    nodes = (pieces.BOOL,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """The byte."""
        byte = body.data[node.start]
        if byte > 1:
            yield Fault("00 or 01", f"{byte:02x}")
