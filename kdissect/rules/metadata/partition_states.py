"""Rules: what Metadata says of partitions must go together."""

from collections.abc import Iterator

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_LEADERLESS = {5: "LEADER_NOT_AVAILABLE", 72: "LISTENER_NOT_FOUND"}  # org.apache.kafka.common.protocol.Errors


class LeaderNotInSync(BodyRule):
    """The leader of a partition must be among its in-sync replicas.

    A leader is in sync with itself. Controllers elect a leader from the in-sync replicas, and an unclean
    election makes the leader the only one.

    Example: leader 1, and in-sync replicas 2 and 3.

    What to do: send one snapshot of the partition's state.
    """

    code = "MET009"
    name = "leader-not-in-sync"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "spec/000 Metadata API",
        "org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData",
    )
    on = (("Metadata", RESPONSE), ("DescribeTopicPartitions", RESPONSE))

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield leaders of partitions without an error."""
        for _, partition, at in body.partitions("topics"):
            leader, in_sync = partition.leader_id, partition.isr_nodes
            if leader not in in_sync and leader >= 0 and partition.error_code == 0:
                shown = ", ".join(map(str, in_sync)) or "none"
                yield body.violation(f"{at}.isr_nodes", f"{leader}, the leader, among them", shown)


class LeaderBesideError(BodyRule):
    """A partition without a leader must not name one.

    LEADER_NOT_AVAILABLE and LISTENER_NOT_FOUND say that a client cannot reach a leader. Brokers send them
    with leader -1.

    Example: error code 5 and leader 1.

    What to do: send the leader, or the error with -1.
    """

    code = "MET010"
    name = "leader-with-error"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("spec/000 Metadata API",)
    on = (("Metadata", RESPONSE), ("DescribeTopicPartitions", RESPONSE))

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield partitions with one of the two errors."""
        for _, partition, at in body.partitions("topics"):
            error = _LEADERLESS.get(partition.error_code)
            if error is not None and partition.leader_id >= 0:
                yield body.violation(f"{at}.leader_id", f"-1 beside {error}", str(partition.leader_id))


class PartitionsMissing(BodyRule):
    """Metadata should list all partitions of a topic, from 0 on.

    Partitions are numbered without a gap. A client that receives four with the numbers 0, 1, 2 and 903
    counts four of them, and sends records to one that does not exist. A topic without any partition cannot be
    written. Apache Kafka with ZooKeeper leaves out a partition whose replicas were all down since the
    topic was created.

    Example: partitions 0, 1 and 7.

    What to do: answer with all partitions, or with an error for the topic. DescribeTopicPartitions has pages.
    """

    code = "MET011"
    name = "partitions-missing"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/000 Metadata API", "spec/000 Partitioning and bootstrapping")
    on = (("Metadata", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the partition numbers in topics without an error."""
        for index, topic in enumerate(body.value.topics):
            numbers = {partition.partition_index for partition in topic.partitions}
            if topic.error_code or numbers == set(range(len(numbers))) != set():
                continue
            first = min(set(range(len(numbers))) - numbers, default=0)
            seen = f"{first} is missing, {max(numbers)} is there" if numbers else "no partition"
            yield body.violation(f"topics[{index}].partitions", "all partitions from 0 on", seen)


class OneIdForTwoTopics(BodyRule):
    """Two topics must not have one id.

    Clients that use ids take the records of one topic for records of the other topic.

    Example: `a` and `b`, both with the same sixteen bytes.

    What to do: draw an id for each topic.
    """

    code = "MET012"
    name = "one-id-for-two-topics"
    claim = Claim.DIFFERS
    severity = Severity.ERROR
    who = Who.BROKER
    cites = ("KIP-516 Proposed Changes",)
    on = (("Metadata", RESPONSE),)
    versions = Versions(10, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the topic ids in one response."""
        names: dict[bytes, object] = {}
        for index, topic in enumerate(body.value.topics):
            if topic.error_code or topic.topic_id == NO_TOPIC_ID or topic.name is None:
                continue
            other = names.setdefault(bytes(topic.topic_id), topic.name)
            if other != topic.name:
                yield body.violation(f"topics[{index}].topic_id", "an id of its own", f"that of {other!r}")
