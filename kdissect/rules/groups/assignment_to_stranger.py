"""GRP013: the leader must assign to members of the generation only."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class AssignmentToStranger(FactRule):
    """The leader must assign to members of the generation only.

    Partitions assigned to others are read by nobody.

    Example: an assignment for `x` where `a` and `b` are members.

    What to do: assign to the members of the JoinGroup answer.
    """

    code = "GRP013"
    name = "assignment-to-stranger"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator",)
    facts = (ClassicFact.ASSIGNMENT_TO_STRANGER,)
    expects = "members of the generation"
    sees = "member {}"
