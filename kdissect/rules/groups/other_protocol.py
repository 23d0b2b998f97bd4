"""GRP014: SyncGroup must name the protocol that JoinGroup chose."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


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
    cites = ("KIP-559",)
    facts = (ClassicFact.PROTOCOL_DIFFERS,)
