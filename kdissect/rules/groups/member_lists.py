"""Rules: data that the leader of a classic group receives, and data that it sends."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class LeaderWithoutMembers(BodyRule):
    """The leader of a generation must receive its members.

    It assigns partitions to them, and is a member itself. Without a list no member reads.

    Example: the member is the leader, and the list is empty.

    What to do: send the members to the one that is named as leader.
    """

    code = "GRP030"
    name = "leader-without-members"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#completeClassicGroupJoin",
    )
    on = (("JoinGroup", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the list of one that leads."""
        answer = body.value
        leads = bool(answer.member_id) and answer.leader == answer.member_id
        if not answer.error_code and leads and not answer.members:
            yield body.violation("members", "the members, for the leader", "none")


class MemberAssignedTwice(BodyRule):
    """A leader must assign to each member once.

    The coordinator keeps one of a member's two assignments.

    Example: SyncGroup with `a` twice.

    What to do: send one assignment for each member.
    """

    code = "GRP031"
    name = "member-assigned-twice"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("spec/000 SyncGroup API",)
    on = (("SyncGroup", REQUEST),)
    guard = (Longer((".assignments",), 1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the members of the list."""
        seen = set()
        for index, row in enumerate(body.value.assignments or ()):
            if row.member_id in seen:
                yield body.violation(
                    f"assignments[{index}].member_id", "each member once", f"{row.member_id} again"
                )
            seen.add(row.member_id)
