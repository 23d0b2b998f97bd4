"""GRP012: only the leader of a group may send assignments."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class AssignmentsOfFollower(FactRule):
    """Only the leader of a group may send assignments.

    Brokers ignore those of others.

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
        "org.apache.kafka.clients.consumer.internals.AbstractCoordinator",
    )
    facts = (ClassicFact.ASSIGNMENTS_OF_FOLLOWER,)
