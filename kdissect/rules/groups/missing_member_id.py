"""GRP005: A member must choose its own id."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class MissingMemberId(BodyRule):
    """A member must choose its own id.

    From ConsumerGroupHeartbeat v1 on, and in share groups, the client makes up a UUID, so that a lost answer
    does not leave a ghost. Brokers answer INVALID_REQUEST.

    Example: member_id "" in v1.

    What to do: draw a UUID when the consumer starts.
    """

    code = "GRP005"
    name = "missing-member-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-1082 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid",
    )
    on = (("ConsumerGroupHeartbeat", REQUEST), ("ShareGroupHeartbeat", REQUEST))
    versions = Versions(1, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """The field."""
        if body.value.member_id == "":
            yield body.violation("member_id", "a UUID", "an empty string")
