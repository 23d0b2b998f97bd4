"""BDY007: A varint should take the smallest possible number of bytes."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Level, Severity
from kdissect.rules.guards import NOT_CANONICAL
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body


class LongVarint(NodeRule):
    """A varint should take the smallest possible number of bytes.

    A longer form has the same value. Every reader accepts it.

    Example: `81 00` for 1.

    What to do: nothing, unless bytes are compared or signed.
    """

    code = "BDY007"
    name = "long-varint"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    cites = ("KIP-482 Proposed Changes", "spec/001 5.3.2.1 Record Header")
    nodes = (pieces.VARINT,)
    guard = NOT_CANONICAL

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield the last byte of a varint with several bytes."""
        if node.end - node.start > 1 and not body.data[node.end - 1]:
            yield Violation("the shortest form", body.data[node.start : node.end].hex(" "))
