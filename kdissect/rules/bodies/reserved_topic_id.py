"""BDY020: the id of __cluster_metadata must not stand for another topic."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Severity
from kdissect.rules import pieces
from kdissect.rules.body import Body
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Fault
from kdissect.schema.metadata_topic import METADATA_TOPIC_ID

# Fetch is left out: controllers fetch their log with it.
CLIENT_APIS = frozenset(
    {"Produce", "Metadata", "OffsetCommit", "OffsetFetch", "ShareFetch", "ShareAcknowledge", "DeleteTopics",
     "CreateTopics", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "DescribeTopicPartitions"}
)  # fmt: skip


class ReservedTopicId(NodeRule):
    """The id of __cluster_metadata must not stand for another topic.

    `AAAAAAAAAAAAAAAAAAAAAQ` is reserved for the controllers' log. Clients of brokers never see it.

    Example: Metadata with that id for a user's topic.

    What to do: draw topic ids at random, and draw again for a reserved one.
    """

    code = "BDY020"
    name = "reserved-topic-id"
    severity = Severity.WARNING
    cites = ("org.apache.kafka.common.Uuid", "KIP-516")
    nodes = (pieces.UUID,)
    shadows = ("REC041", "REC042")  # records of another topic are none of the controllers' log

    def check(self, node: Node, body: Body) -> Iterator[Fault]:
        """Topic ids in APIs between clients and brokers."""
        if node.value != METADATA_TOPIC_ID or body.api.name not in CLIENT_APIS or node.field is None:
            return
        if node.field.entity == "topicId":
            yield Fault("a random id", "the id of __cluster_metadata")
