"""BDY026: A topic name that Kafka does not allow must be refused."""

import re
from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


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
            if (
                not isinstance(topic.name, str)
                or not _LEGAL.fullmatch(topic.name)
                or topic.name in (".", "..")
            ):
                yield body.violation(
                    f"topics[{index}].name", "an error for this name", f"{topic.name!r} accepted"
                )
