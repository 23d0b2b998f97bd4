"""BDY023: throttle_time_ms must not be negative."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Who
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault


class NegativeThrottle(NodeRule):
    """throttle_time_ms must not be negative.

    It says for how long a broker held the answer back, or for how long the client should wait.

    Example: throttle_time_ms -1.

    What to do: send 0 where nothing is throttled.
    """

    code = "BDY023"
    name = "negative-throttle"
    who = Who.BROKER
    cites = ("spec/003 Produce API", "KIP-219")
    nodes = (pieces.THROTTLE,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """The field of every response."""
        if node.value is not None and node.value < 0:
            yield Fault("0 or more", str(node.value))
