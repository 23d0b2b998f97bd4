"""ADM006: deleteTopics v6 must name each topic by name or by id."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


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
