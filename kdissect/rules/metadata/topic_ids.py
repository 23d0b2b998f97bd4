"""Rules: ids of topics against the names that they had before."""

from kdissect.history.topics.topic_ids import TopicIdFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class IdAgain(FactRule):
    """A broker must not return to the id of a deleted topic.

    A topic that is deleted and created again under its name has a new id. A broker applies the metadata log
    in its order, so that its responses do not return to the former topic. The rule compares responses of one
    connection. Another broker may be behind.

    Example: Metadata names topic `t` with the id `a`, then with `b`, then with `a`.

    What to do: look for a proxy that takes responses from several brokers, or for metadata that was restored.
    """

    code = "MET016"
    name = "id-again"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-516 Proposed Changes", "KIP-631 Proposed Changes")
    facts = (TopicIdFact.ID_AGAIN,)
    expects = "topic id {}, the later topic of the name"
    sees = "topic id {}"


class IdOfOtherTopic(FactRule):
    """An id must belong to one name.

    A broker draws a random id for each new topic, and a topic never changes its name. Metadata, CreateTopics,
    DeleteTopics, DescribeTopicPartitions and descriptions of groups have both. The rule compares the
    responses of a cluster. It skips ids that are not random, and the ids of a CreateTopics that only
    validates.

    Example: Metadata names topic `t` with an id, and DescribeTopicPartitions topic `u` with the same id.

    What to do: look for two clusters behind one address, or for an id that was read from other bytes.
    """

    code = "MET017"
    name = "id-of-other-topic"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-516 Proposed Changes", "org.apache.kafka.common.Uuid#randomUuid")
    facts = (TopicIdFact.OTHER_NAME,)
    expects = "topic {}, which has the id"
    sees = "topic {}"
