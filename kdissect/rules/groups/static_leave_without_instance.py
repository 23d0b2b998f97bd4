"""GRP006: epoch -2 needs an instance id."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class StaticLeaveWithoutInstance(BodyRule):
    """Epoch -2 needs an instance id.

    It says that a static member goes and will be back. Without an instance id it is no static member.

    Example: member_epoch -2 and instance_id null.

    What to do: send -1.
    """

    code = "GRP006"
    name = "static-leave-without-instance"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-848 Public Interfaces",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid",
    )
    on = (("ConsumerGroupHeartbeat", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Instance id beside the epoch."""
        if body.value.member_epoch == -2 and body.value.instance_id is None:
            yield body.violation("instance_id", "an instance id with epoch -2", "null")
