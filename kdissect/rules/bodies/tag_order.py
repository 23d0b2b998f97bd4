"""BDY008: tags must stand in ascending order."""

from collections.abc import Iterator
from itertools import pairwise

from kdissect.decoders.trees.node import Node
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class TagOrder(NodeRule):
    """Tags must stand in ascending order.

    KIP-482 demands it, so that equal values have equal bytes. Java readers accept any order.

    Example: tag 1 before tag 0.

    What to do: sort tags when writing, unknown ones included.
    """

    code = "BDY008"
    name = "unordered-tags"
    cites = ("KIP-482", "org.apache.kafka.common.protocol.types.RawTaggedFieldWriter")
    nodes = (pieces.TAGS,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Each tag against the one before."""
        tags = [child.value for child in node.children if child.type == "tag"]
        if any(later < earlier for earlier, later in pairwise(tags)):
            yield Fault("ascending tags", f"tags {', '.join(map(str, tags))}")
