"""BDY026: A topic name that Kafka does not allow must be refused."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.model.topic_name import is_legal_topic_name
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class IllegalTopicName(BodyRule):
    """A topic name that Kafka does not allow must be refused.

    Names are 1 to 249 of letters, digits, `.`, `_` and `-`, and neither `.` nor `..`. A client only passes on
    what its application asked for: wrong is a broker that creates such a topic.

    Example: CreateTopics for `a/b`, answered with error 0.

    What to do: answer INVALID_TOPIC_EXCEPTION.
    """

    code = "BDY026"
    name = "illegal-topic-name"
    claim = Claim.REFUSED
    who = Who.BROKER
    cites = ("org.apache.kafka.common.internals.Topic#validate",)
    on = (("CreateTopics", REQUEST),)
    refusable = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield names of the topics to create."""
        for index, topic in enumerate(body.value.topics):
            if not isinstance(topic.name, str) or not is_legal_topic_name(topic.name):
                yield body.violation(
                    f"topics[{index}].name", "an error for this name", f"{topic.name!r} accepted"
                )
