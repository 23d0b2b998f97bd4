"""Rules: topics to create and to delete."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class CountAndAssignment(BodyRule):
    """A topic with assignments must not have a partition or replica count as well.

    Apache Kafka answers INVALID_REQUEST. The client passes on what its application asked for: wrong is a
    broker that accepts both.

    Example: num_partitions 3 and two assignments, answered with error 0.

    What to do: refuse it.
    """

    code = "ADM003"
    name = "count-and-assignment"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = ("spec/003 CreateTopics API", "org.apache.kafka.controller.ReplicationControlManager#createTopic")
    on = (("CreateTopics", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield counts next to assignments."""
        for index, topic in enumerate(body.value.topics):
            if topic.assignments and (topic.num_partitions != -1 or topic.replication_factor != -1):
                asked = plural(topic.num_partitions, "partition")
                seen = f"{asked}, {plural(topic.replication_factor, 'replica')}, accepted"
                yield body.violation(f"topics[{index}]", "-1 and -1 with assignments", seen)


class DefaultCountTooEarly(BodyRule):
    """-1 for "the broker's default" needs CreateTopics v4.

    Older versions demand numbers, or assignments: brokers before 2.4 answer INVALID_PARTITIONS or
    INVALID_REPLICATION_FACTOR. Later ones take it in any version.

    Example: num_partitions -1 in v3.

    What to do: use v4, or give the numbers.
    """

    code = "ADM004"
    name = "default-count-too-early"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/003 CreateTopics API", "KIP-464 Proposed Changes")
    on = (("CreateTopics", REQUEST),)
    versions = Versions(0, 3)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield counts without assignments."""
        for index, topic in enumerate(body.value.topics):
            if not topic.assignments and (topic.num_partitions < 1 or topic.replication_factor < 1):
                partitions = plural(topic.num_partitions, "partition")
                seen = f"{partitions}, {plural(topic.replication_factor, 'replica')}"
                yield body.violation(f"topics[{index}]", "numbers above 0", seen)


class BadAssignment(BodyRule):
    """Assignments must number partitions from 0 on and name each broker once.

    Every partition has an equal number of replicas. Apache Kafka answers INVALID_REPLICA_ASSIGNMENT; wrong
    is a broker that accepts it.

    Example: assignments for partitions 0 and 2.

    What to do: refuse it.
    """

    code = "ADM005"
    name = "bad-assignment"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = (
        "org.apache.kafka.controller.ReplicationControlManager#createTopic",
        "org.apache.kafka.controller.ReplicationControlManager#validateManualPartitionAssignment",
    )
    on = (("CreateTopics", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the assignments of each topic."""
        for index, topic in enumerate(body.value.topics):
            given = topic.assignments
            numbers = sorted(item.partition_index for item in given)
            brokers = [list(item.broker_ids) for item in given]
            even = len({len(ids) for ids in brokers}) <= 1
            if (
                numbers != list(range(len(given)))
                or not even
                or any(len(set(ids)) != len(ids) for ids in brokers)
            ):
                seen = f"partitions {numbers}, replicas {brokers}, accepted"
                yield body.violation(
                    f"topics[{index}].assignments",
                    "partitions from 0, each with an equal number of different brokers",
                    seen,
                )


class NameAndId(BodyRule):
    """DeleteTopics v6 must name each topic by name or by id.

    Both, or neither, is refused with INVALID_REQUEST.

    Example: a null name and the zero id.

    What to do: send one of them.
    """

    code = "ADM006"
    name = "name-and-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-516 Proposed Changes", "kafka.server.ControllerApis#deleteTopics")
    on = (("DeleteTopics", REQUEST),)
    versions = Versions(6, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Name and id of each topic."""
        for index, topic in enumerate(body.value.topics):
            if (topic.name is None) != any(topic.topic_id):
                yield body.violation(
                    f"topics[{index}]", "a name or an id", "neither" if topic.name is None else "both"
                )
