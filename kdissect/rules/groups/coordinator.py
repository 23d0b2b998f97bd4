"""Rules: what a coordinator says of a generation."""

from collections.abc import Iterator

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.modern_groups import ModernFact
from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class GenerationBack(FactRule):
    """The generation or epoch that a coordinator tells should not go back.

    Generations of a classic group count up; epochs of members (KIP-848 and its kin) do so from 1 on. A group
    that was empty may begin anew. What members of that generation or epoch send is not judged.

    Example: JoinGroup is answered with generation 3 after 5, or a heartbeat with epoch 0.

    What to do: look for two coordinators of one group, or for lost state.
    """

    code = "GRP019"
    name = "generation-back"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = (
        "org.apache.kafka.coordinator.group.classic.ClassicGroup#initNextGeneration",
        "KIP-848 Public Interfaces",
    )
    facts = (ClassicFact.GENERATION_WENT_BACK, ModernFact.EPOCH_WENT_BACK)
    expects = "{} or more"
    sees = "{}"


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
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.classic.ClassicGroup#maybeElectNewJoinedLeader",
    )
    on = (("JoinGroup", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The leader against the members, where there are any."""
        answer = body.value
        members = [str(member.member_id) for member in answer.members or ()]
        if not answer.error_code and members and str(answer.leader) not in members:
            yield body.violation("leader", f"one of {plural(len(members), 'member')}", str(answer.leader))


class TwoProtocols(FactRule):
    """All members of a generation must be told the same protocol.

    The leader assigns by one protocol, and members read what it assigns by theirs.

    Example: generation 5 with `range` for one member and `sticky` for another.

    What to do: choose once for each generation.
    """

    code = "GRP021"
    name = "two-protocols"
    who = Who.BROKER
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.classic.ClassicGroup#selectProtocol",
    )
    facts = (ClassicFact.TWO_PROTOCOLS,)
    expects = "{}, as another member was told"
    sees = "{}"
