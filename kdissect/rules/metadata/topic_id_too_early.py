"""MET001: metadata v10 and v11 must name topics, not ids."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Versions


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
        """Names and ids of the topics asked for."""
        for index, topic in enumerate(body.value.topics or ()):
            if topic.name is None:
                yield body.violation(f"topics[{index}].name", "a name", "null")
            if any(topic.topic_id):
                yield body.violation(f"topics[{index}].topic_id", "the zero id", "an id")
