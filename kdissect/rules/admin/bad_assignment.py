"""ADM005: assignments must number partitions from 0 on and name each broker once."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class BadAssignment(BodyRule):
    """Assignments must number partitions from 0 on and name each broker once.

    Every partition has as many replicas as the others. Apache Kafka answers INVALID_REPLICA_ASSIGNMENT; wrong
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
        """The assignments of each topic."""
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
                    f"topics[{index}].assignments", "partitions from 0, as many different brokers each", seen
                )
