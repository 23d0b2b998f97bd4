"""Rules: topics, leaders, their epochs and replicas in Metadata."""

from collections.abc import Iterator

from kdissect.history.epochs.leader_epochs import LeaderFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class TopicIdTooEarly(BodyRule):
    """Metadata v10 and v11 must name topics, not ids.

    The fields exist from v10 on, but brokers take ids only from v12 on.

    Example: Metadata v11 with a null name.

    What to do: use v12 or later for ids.
    """

    code = "MET001"
    name = "topic-id-too-early"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-516 Proposed Changes", "kafka.server.KafkaApis#handleTopicMetadataRequest")
    on = (("Metadata", REQUEST),)
    versions = Versions(10, 11)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield names and ids of the topics asked for."""
        for index, topic in enumerate(body.value.topics or ()):
            if topic.name is None:
                yield body.violation(f"topics[{index}].name", "a name", "null")
            if any(topic.topic_id):
                yield body.violation(f"topics[{index}].topic_id", "the zero id", "an id")


class UnknownLeader(BodyRule):
    """The leader of a partition should be among the brokers of the same answer.

    A client cannot connect to a leader whose address it did not receive.

    Example: leader 3 where only brokers 1 and 2 are listed.

    What to do: list every live broker. Send -1 and LEADER_NOT_AVAILABLE without one.
    """

    code = "MET002"
    name = "unknown-leader"
    level = Level.SHOULD
    who = Who.BROKER
    cites = ("spec/000 Metadata API",)
    on = (("Metadata", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield leaders of partitions without an error."""
        brokers = {broker.node_id for broker in body.value.brokers}
        for _, partition, at in body.partitions("topics"):
            leader = partition.leader_id
            if leader not in brokers and leader >= 0 and partition.error_code == 0:
                path = f"{at}.leader_id"
                yield body.violation(path, f"one of {sorted(brokers)}", str(leader))


class IsrNotReplicas(BodyRule):
    """In-sync replicas and the leader must be replicas.

    Example: replicas 1, 2 and in-sync replicas 1, 3.

    What to do: send one snapshot of the partition's state.
    """

    code = "MET003"
    name = "isr-not-replicas"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("org.apache.kafka.metadata.Replicas#validateIsr",)
    on = (("Metadata", RESPONSE),)
    overrides = ("MET009",)  # a leader that is no replica is not in sync either

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition's sets."""
        for _, partition, at in body.partitions("topics"):
            leader, stray = partition.leader_id, set(partition.isr_nodes)
            if leader >= 0:
                stray.add(leader)
            stray.difference_update(partition.replica_nodes)
            if stray and partition.error_code == 0:
                path = f"{at}.replica_nodes"
                yield body.violation(path, "every in-sync replica and the leader", f"{sorted(stray)} missing")


class MissingTopicId(BodyRule):
    """Metadata v10 and later should give the id of a topic.

    Clients go over to ids as soon as the version has them. With the zero id they cannot fetch. Apache Kafka
    does this only for topics created under an inter-broker protocol before 2.8.

    Example: error 0 and sixteen zero bytes.

    What to do: give every topic an id, or advertise at most v9.
    """

    code = "MET004"
    name = "missing-topic-id"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    cites = ("KIP-516 Proposed Changes",)
    on = (("Metadata", RESPONSE),)
    versions = Versions(10, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield ids of topics without an error."""
        for index, topic in enumerate(body.value.topics):
            if topic.error_code == 0 and not any(topic.topic_id):
                yield body.violation(f"topics[{index}].topic_id", "an id", "zero")


class EpochWentBack(FactRule):
    """The leader epoch of a partition should not go back.

    The same broker sent a higher one before, for the same topic id. Clients that keep epochs ignore the
    older.

    Example: epoch 4, then epoch 2.

    What to do: look at the age of the metadata.
    """

    code = "MET005"
    name = "leader-epoch-back"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-320 Proposed Changes", "org.apache.kafka.clients.Metadata#updateLastSeenEpochIfNewer")
    facts = (LeaderFact.WENT_BACK,)


class TwoLeaders(FactRule):
    """An epoch must have one leader.

    Every new leader raises the epoch.

    Example: leaders 1 and 3 in epoch 4.

    What to do: look at the controller.
    """

    code = "MET006"
    name = "two-leaders"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-320 Proposed Changes", "org.apache.kafka.clients.Metadata#updateLastSeenEpochIfNewer")
    facts = (LeaderFact.TWO_LEADERS,)


class OtherCluster(FactRule):
    """A broker must not change its cluster.

    The id of a cluster is drawn once, and every broker of it sends this id. Two ids on one connection are of
    two clusters, or one of them is invented. Metadata and DescribeCluster name it.

    Example: Metadata with cluster id `A`, then on the same connection with `B`.

    What to do: look for a proxy or load balancer with brokers of two clusters behind one address.
    """

    code = "MET015"
    name = "other-cluster"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("spec/003 Metadata API",)
    facts = (LeaderFact.OTHER_CLUSTER,)
    expects = "{}, as before"
