"""Rules: member ids and epochs in heartbeats of new groups."""

from kdissect.history.groups.modern_groups import ModernFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class WrongMemberEpoch(FactRule):
    """A member must heartbeat with the epoch that it received.

    The last one or the one before, 0 to join, -1 or -2 to leave. Brokers answer FENCED_MEMBER_EPOCH.

    Example: epoch 7 after epoch 2 was assigned.

    What to do: take the epoch of each answer.
    """

    code = "GRP015"
    name = "wrong-member-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-848 Public Interfaces",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid",
    )
    facts = (ModernFact.EPOCH_DIFFERS,)


class OwnsUnassigned(FactRule):
    """A member must not say that it holds partitions or tasks that it was not assigned.

    Heartbeats of KIP-848 list the partitions that the member holds, and heartbeats of KIP-1071 its tasks. The
    coordinator assigns a partition to another member when its holder no longer lists it. The rule compares
    the list with all assignments since the member joined. It compares tasks without their role, which may
    change.

    Example: partitions 0 and 1 were assigned, and the member owns 0 and 77.

    What to do: report assigned partitions alone.
    """

    code = "GRP037"
    name = "owns-unassigned"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-848 Public Interfaces", "KIP-1071 Public Interfaces")
    facts = (ModernFact.OWNS_UNASSIGNED,)
    expects = "what it was assigned"


class OtherMemberId(FactRule):
    """A heartbeat must be answered for its own member.

    The member would take another member's assignment.

    Example: member `m` asks, member `x` is answered.

    What to do: answer for the member of the request.
    """

    code = "GRP016"
    name = "other-member-id"
    who = Who.BROKER
    cites = ("KIP-848 Public Interfaces",)
    facts = (ModernFact.OTHER_MEMBER_ID,)
