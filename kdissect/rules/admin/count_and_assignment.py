"""ADM003: A topic with assignments must not have a partition or replica count as well."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


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
        """Counts beside assignments."""
        for index, topic in enumerate(body.value.topics):
            if topic.assignments and (topic.num_partitions != -1 or topic.replication_factor != -1):
                asked = plural(topic.num_partitions, "partition")
                seen = f"{asked}, {plural(topic.replication_factor, 'replica')}, accepted"
                yield body.violation(f"topics[{index}]", "-1 and -1 beside assignments", seen)
