"""GRP020: the leader of a generation must be one of its members."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.model.wording import plural
from kdissect.rules.body import Body
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Fault


class LeaderNotMember(BodyRule):
    """The leader of a generation must be one of its members.

    The answer that lists the members goes to the leader, and names it. With another name nobody assigns
    partitions, or the wrong member does.

    Example: leader `x`, members `a` and `b`.

    What to do: name the member that gets the list.
    """

    code = "GRP020"
    name = "leader-not-member"
    who = Who.BROKER
    cites = ("spec/000 JoinGroup API", "org.apache.kafka.coordinator.group.GroupMetadataManager")
    on = (("JoinGroup", RESPONSE),)

    def check(self, body: Body) -> Iterator[Fault]:
        """The leader against the members, where there are any."""
        answer = body.value
        members = [str(member.member_id) for member in answer.members or ()]
        if not answer.error_code and members and str(answer.leader) not in members:
            yield body.fault("leader", f"one of {plural(len(members), 'member')}", str(answer.leader))
