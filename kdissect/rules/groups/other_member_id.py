"""GRP016: a heartbeat must be answered for its own member."""

from kdissect.history.groups.modern_groups import ModernFact
from kdissect.model.finding import Who
from kdissect.rules.kinds import FactRule


class OtherMemberId(FactRule):
    """A heartbeat must be answered for its own member.

    The member would take the assignment of another.

    Example: member `m` asks, member `x` is answered.

    What to do: answer for the member of the request.
    """

    code = "GRP016"
    name = "other-member-id"
    who = Who.BROKER
    cites = ("KIP-848",)
    facts = (ModernFact.OTHER_MEMBER_ID,)
