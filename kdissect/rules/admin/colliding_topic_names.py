"""ADM015: topics should not differ in `.` and `_` alone."""

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
        """Names within the request."""
        seen: dict[str, str] = {}
        for index, topic in enumerate(body.value.topics):
            plain = str(topic.name).replace(".", "_")
            other = seen.setdefault(plain, str(topic.name))
            if other != topic.name:
                yield body.violation(
                    f"topics[{index}].name", f"no name like {other!r}", f"{topic.name!r} accepted"
                )
