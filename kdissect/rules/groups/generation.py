"""Rules: what members of a classic group say of its generation."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class WrongGeneration(FactRule):
    """A member must use the generation of its last JoinGroup.

    Brokers answer ILLEGAL_GENERATION.

    Example: generation 3 after joining generation 2.

    What to do: keep the generation of the answer. Join again after an error.
    """

    code = "GRP010"
    name = "wrong-generation"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "spec/000 Heartbeat API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#throwIfGenerationIdUnmatched",
    )
    facts = (ClassicFact.GENERATION_DIFFERS,)
    awaits_end = True  # members join on separate connections: a lost JoinGroup names another generation


class GivenIdUnused(FactRule):
    """A member must join again with the id from the response.

    MEMBER_ID_REQUIRED assigns an id, so that a member that comes back is known. Brokers answer
    UNKNOWN_MEMBER_ID.

    Example: id `a` given, id `b` used.

    What to do: take the id of the answer.
    """

    code = "GRP011"
    name = "given-id-unused"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-394 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#classicGroupJoinExistingMember",
    )
    facts = (ClassicFact.GIVEN_ID_UNUSED,)


class AssignmentsOfFollower(FactRule):
    """Only the leader of a group may send assignments.

    Brokers ignore assignments from other members.

    Example: SyncGroup with assignments from a member that does not lead.

    What to do: send an empty list.
    """

    code = "GRP012"
    name = "assignments-of-follower"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "spec/000 SyncGroup API",
        "org.apache.kafka.clients.consumer.internals.AbstractCoordinator#onJoinFollower",
    )
    facts = (ClassicFact.ASSIGNMENTS_OF_FOLLOWER,)


class AssignmentToStranger(FactRule):
    """The leader must assign to members of the generation only.

    No member reads partitions assigned to outsiders.

    Example: an assignment for `x` where `a` and `b` are members.

    What to do: assign to the members of the JoinGroup answer.
    """

    code = "GRP013"
    name = "assignment-to-stranger"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator#onLeaderElected",)
    facts = (ClassicFact.ASSIGNMENT_TO_STRANGER,)
    expects = "members of the generation"
    sees = "member {}"


class OtherProtocol(FactRule):
    """SyncGroup must name the protocol that JoinGroup chose.

    From v5 on. Brokers answer INCONSISTENT_GROUP_PROTOCOL.

    Example: `range` chosen, `sticky` named.

    What to do: copy type and name of the answer.
    """

    code = "GRP014"
    name = "other-protocol"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-559 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#throwIfClassicProtocolUnmatched",
    )
    facts = (ClassicFact.PROTOCOL_DIFFERS,)
