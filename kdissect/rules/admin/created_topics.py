"""Rules: topics that a broker should not create."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class CollidingTopicNames(BodyRule):
    """Topics should not differ in `.` and `_` alone.

    Names of metrics replace `.` by `_`, so that the two collide there. Apache Kafka refuses the second one.

    Example: `a.b` and `a_b` in one request, answered with error 0.

    What to do: use one of the two characters.
    """

    code = "ADM015"
    name = "colliding-topic-names"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    cites = ("org.apache.kafka.common.internals.Topic#hasCollision",)
    on = (("CreateTopics", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield names within the request."""
        seen: dict[str, str] = {}
        for index, topic in enumerate(body.value.topics):
            plain = str(topic.name).replace(".", "_")
            other = seen.setdefault(plain, str(topic.name))
            if other != topic.name:
                yield body.violation(
                    f"topics[{index}].name", f"no name like {other!r}", f"{topic.name!r} accepted"
                )


class NoPartitions(BodyRule):
    """A topic must not be created with no partitions or no replicas.

    Apache Kafka answers INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR. -1 asks for the broker's default,
    and appears together with assignments. The client passes on what its application asked for: wrong is a
    broker that accepts it.

    Example: num_partitions 0, answered with error 0.

    What to do: refuse it.
    """

    code = "ADM016"
    name = "no-partitions"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = ("spec/003 CreateTopics API", "org.apache.kafka.controller.ReplicationControlManager#createTopic")
    on = (("CreateTopics", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield both counts of each topic."""
        for index, topic in enumerate(body.value.topics):
            for name in ("num_partitions", "replication_factor"):
                asked = getattr(topic, name)
                if asked < -1 or not asked:
                    yield body.violation(f"topics[{index}].{name}", "1 or more, or -1", f"{asked}, accepted")
