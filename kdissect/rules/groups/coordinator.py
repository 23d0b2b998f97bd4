"""Rules: what a coordinator says of a generation."""

from collections.abc import Iterator

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.modern_groups import ModernFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import All, Among, Empty, Longer, Other
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class GenerationBack(FactRule):
    """The generation or epoch in a coordinator's responses should not go back.

    Generations of a classic group count up. Epochs of members (KIP-848 and its kin) do so from 1 on. A group
    that was empty may begin again. What members of that generation or epoch send is not judged.

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

    The answer that lists the members goes to the leader, and names it. With another name no member
    assigns partitions, or the wrong member does.

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
        """Yield the leader against the members, if there are any."""
        answer = body.value
        members = [str(member.member_id) for member in answer.members or ()]
        if not answer.error_code and members and str(answer.leader) not in members:
            yield body.violation("leader", f"one of {plural(len(members), 'member')}", str(answer.leader))


class TwoProtocols(FactRule):
    """All members of a generation must receive the same protocol.

    The leader assigns by one protocol, and members read what it assigns by theirs. Members count whose
    JoinGroup requests waited at the same time: one that joins later may meet another cluster.

    Example: generation 5 with `range` for one member and `sticky` for a second member.

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
    expects = "{}, as another member received"
    sees = "{}"


class TwoLeadersOfGeneration(FactRule):
    """All members of a generation must receive the same leader.

    The member that receives itself as leader assigns partitions. Of two leaders the coordinator takes one.
    Static members are left out: one that comes back has another id. Members count whose JoinGroup requests
    waited at the same time: one that joins later may meet another cluster at the same address.

    Example: generation 5 led by `a` for one member and by `b` for a second member.

    What to do: look for two coordinators of one group.
    """

    code = "GRP025"
    name = "two-leaders-of-generation"
    who = Who.BROKER
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#completeClassicGroupJoin",
    )
    facts = (ClassicFact.TWO_LEADERS,)
    expects = "{}, as another member received"
    sees = "{}"


class OtherMetadata(FactRule):
    """The leader of a generation must receive the metadata that its members sent.

    It assigns by their metadata: of others it gives members partitions of topics they do not read.

    Example: a member subscribes to `t`, and the leader receives `u`.

    What to do: look at what stands between members and coordinator.
    """

    code = "GRP026"
    name = "other-metadata"
    who = Who.BROKER
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#completeClassicGroupJoin",
    )
    facts = (ClassicFact.METADATA_DIFFERS,)
    expects = "{}, as the member sent"
    sees = "{}"


class AnsweredAfterLeave(FactRule):
    """A member that left must not be answered as if it were there.

    Brokers answer UNKNOWN_MEMBER_ID. A client that receives a different answer goes on, and reads partitions
    that now belong to other members.

    Example: LeaveGroup is answered, and a later Heartbeat of the same member id gets no error.

    What to do: look for two coordinators of one group, or for lost state.
    """

    code = "GRP027"
    name = "answered-after-leave"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "spec/000 LeaveGroup API",
        "KIP-848 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#classicGroupLeaveToClassicGroup",
    )
    facts = (ClassicFact.ANSWERED_AFTER_LEAVE, ModernFact.ANSWERED_AFTER_LEAVE)
    expects = "UNKNOWN_MEMBER_ID"
    sees = "error code {}"


class AnsweredToStranger(FactRule):
    """A coordinator must not answer a heartbeat from outside the generation without an error.

    The leader of a generation receives the list of all its members. Brokers answer UNKNOWN_MEMBER_ID to
    such a heartbeat. Groups with static members are left out: one that comes back has another id than in
    that list.

    Example: the list of the leader has `a` and `b`, and a Heartbeat of `x` gets no error.

    What to do: look for two coordinators of one group, or for lost state.
    """

    code = "GRP036"
    name = "answered-to-stranger"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "spec/000 Heartbeat API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#throwIfGenerationIdUnmatched",
    )
    facts = (ClassicFact.ANSWERED_TO_STRANGER,)
    expects = "UNKNOWN_MEMBER_ID"
    sees = "error code {}"


class HeldByTwo(FactRule):
    """A coordinator must not give away what a member still holds.

    A partition, or an active task, goes to another member when its holder was asked to release it and has
    done so (KIP-848, KIP-1071).

    Example: `a` and `b` heartbeat, and responses assign both partition 0.

    What to do: look at the coordinator. Both members read and commit.
    """

    code = "GRP028"
    name = "held-by-two"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-848 Proposed Changes", "org.apache.kafka.coordinator.group.modern.MemberState")
    facts = (ModernFact.HELD_BY_TWO,)
    expects = "a new assignment: another member received it"
    sees = "{}, and no new data"


class OddJoinAnswer(BodyRule):
    """A member that joined must receive its id, and a member that did not must not receive a member list.

    Without an id it cannot heartbeat or commit. A leader receives members only in the response to its
    JoinGroup.

    Example: no error and an empty member_id.

    What to do: answer with the id, or with an error alone.
    """

    code = "GRP029"
    name = "odd-join-answer"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#completeClassicGroupJoin",
    )
    on = (("JoinGroup", RESPONSE),)
    guard = (
        All((Among((".error_code",), frozenset({0})), Empty((".member_id",)))),
        All((Other((".error_code",), frozenset({0})), Longer((".members",), 0))),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Member id and members, by whether there is an error."""
        answer = body.value
        if not answer.error_code and not answer.member_id:
            yield body.violation("member_id", "the id of the member", "none, and no error")
        if answer.error_code and answer.members:
            yield body.violation("members", "no member with an error", plural(len(answer.members), "member"))
