"""Rules: topic ids that name no topic."""

from collections.abc import Iterator

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import TopicId
from kdissect.rules.kinds import NodeRule
from kdissect.rules.rule import Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body
from kdissect.schema.logs import METADATA_TOPIC_ID

# From these versions on requests name topics by id alone (KIP-516).
_BY_ID = {
    "Produce": 13,
    "Fetch": 13,
    "OffsetCommit": 10,
    "OffsetFetch": 10,
    "ShareFetch": 0,
    "ShareAcknowledge": 0,
}
# Fetch is left out: controllers fetch their log with it.
_CLIENT_APIS = frozenset(
    {"Produce", "Metadata", "OffsetCommit", "OffsetFetch", "ShareFetch", "ShareAcknowledge", "DeleteTopics",
     "CreateTopics", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "DescribeTopicPartitions"}
)  # fmt: skip


class ZeroTopicId(NodeRule):
    """A request that names topics by id must not send the zero id.

    Zero says "no id". Brokers answer UNKNOWN_TOPIC_ID; Java clients never send it. A request that the broker
    answers without an error is left out: some brokers give zero ids in Metadata, and accept them.

    Example: Fetch v13 with sixteen zero bytes as topic id.

    What to do: use a version with names until the id is known from Metadata.
    """

    code = "BDY019"
    name = "zero-topic-id"
    who = Who.CLIENT
    claim = Claim.REFUSED
    cites = ("KIP-516 Proposed Changes", "org.apache.kafka.common.Uuid#ZERO_UUID")
    nodes = (pieces.UUID,)
    guard = (TopicId(frozenset({NO_TOPIC_ID})),)
    requests = _BY_ID

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield the topic ids of requests that have no names."""
        if node.value != NO_TOPIC_ID or not self.speaks_of(body.api.name, body.side, body.version):
            return
        if node.field is not None and node.field.entity == "topicId" and not _is_accepted(body):
            yield Violation("the id of a topic", "zero")


def _is_accepted(body: Body) -> bool:
    """Return whether the broker answered without any error code."""
    exchange = body.exchange
    return exchange.response is not None and not exchange.response_summary().errors


class ReservedTopicId(NodeRule):
    """The id of __cluster_metadata must not stand for another topic.

    `AAAAAAAAAAAAAAAAAAAAAQ` is reserved for the controllers' log. Clients of brokers never see it.

    Example: Metadata with that id for a user's topic.

    What to do: draw topic ids at random, and draw again for a reserved one.
    """

    code = "BDY020"
    name = "reserved-topic-id"
    severity = Severity.WARNING
    cites = ("org.apache.kafka.common.Uuid#METADATA_TOPIC_ID", "KIP-516 Proposed Changes")
    nodes = (pieces.UUID,)
    overrides = ("REC041", "REC042")  # records of another topic do not belong to the controllers' log
    guard = (TopicId(frozenset({METADATA_TOPIC_ID})),)

    def speaks_of(self, api: str, side: str, version: int) -> bool:
        """Return True for APIs between clients and brokers."""
        return api in _CLIENT_APIS

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield the topic ids in APIs between clients and brokers."""
        if node.value != METADATA_TOPIC_ID or not self.speaks_of(body.api.name, body.side, body.version):
            return
        if node.field is not None and node.field.entity == "topicId":
            yield Violation("a random id", "the id of __cluster_metadata")
