"""GRP011: a member must join again with the id it was given."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class GivenIdUnused(FactRule):
    """A member must join again with the id it was given.

    MEMBER_ID_REQUIRED gives an id, so that a member that comes back is known. Brokers answer
    UNKNOWN_MEMBER_ID.

    Example: id `a` given, id `b` used.

    What to do: take the id of the answer.
    """

    code = "GRP011"
    name = "given-id-unused"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-394",)
    facts = (ClassicFact.GIVEN_ID_UNUSED,)
