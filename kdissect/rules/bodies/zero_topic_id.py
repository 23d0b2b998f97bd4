"""BDY019: A request that names topics by id must not send the zero id."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Who
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import REQUEST, Fault

ZERO = bytes(16)
# From these versions on requests name topics by id alone (KIP-516).
_BY_ID = {
    "Produce": 13,
    "Fetch": 13,
    "OffsetCommit": 10,
    "OffsetFetch": 10,
    "ShareFetch": 0,
    "ShareAcknowledge": 0,
}


class ZeroTopicId(NodeRule):
    """A request that names topics by id must not send the zero id.

    Zero says "no id". Brokers answer UNKNOWN_TOPIC_ID; Java clients never send it.

    Example: Fetch v13 with sixteen zero bytes as topic id.

    What to do: use a version with names until the id is known from Metadata.
    """

    code = "BDY019"
    name = "zero-topic-id"
    who = Who.CLIENT
    claim = Claim.REFUSED
    cites = ("KIP-516", "org.apache.kafka.common.Uuid")
    nodes = (pieces.UUID,)

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Topic ids of requests that have no names."""
        first = _BY_ID.get(body.api.name)
        if first is None or body.side != REQUEST or body.version < first or node.value != ZERO:
            return
        if node.field is not None and node.field.entity == "topicId":
            yield Fault("the id of a topic", "zero")
