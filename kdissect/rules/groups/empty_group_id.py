"""GRP001: A group id must not be empty."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import Empty
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class EmptyGroupId(BodyRule):
    """A group id must not be empty.

    Brokers answer INVALID_GROUP_ID to members. Offsets may be committed and fetched under the empty id for
    old clients (KIP-289), which is left out.

    Example: JoinGroup with group_id "".

    What to do: set `group.id`.
    """

    code = "GRP001"
    name = "empty-group-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-289 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#isGroupIdNotEmpty",
    )
    on = tuple(
        (name, REQUEST)
        for name in (
            "JoinGroup",
            "SyncGroup",
            "Heartbeat",
            "LeaveGroup",
            "ConsumerGroupHeartbeat",
            "ShareGroupHeartbeat",
        )
    )
    guard = (Empty((".group_id",)),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the field."""
        if body.value.group_id == "":
            yield body.violation("group_id", "a name", "an empty string")
