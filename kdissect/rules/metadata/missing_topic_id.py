"""MET004: metadata v10 and later must give the id of a topic."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class MissingTopicId(BodyRule):
    """Metadata v10 and later should give the id of a topic.

    Clients go over to ids as soon as the version has them; with the zero id they cannot fetch. Apache Kafka
    does this only where topics were made under an inter-broker protocol before 2.8.

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
        """Ids of topics without an error."""
        for index, topic in enumerate(body.value.topics):
            if topic.error_code == 0 and not any(topic.topic_id):
                yield body.violation(f"topics[{index}].topic_id", "an id", "zero")
