"""GRP018: A member that is told of a rebalance should join again within the rebalance timeout."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import FactRule


class RebalanceIgnored(FactRule):
    """A member that is told of a rebalance should join again within the rebalance timeout.

    Heartbeats are answered with REBALANCE_IN_PROGRESS until it does, and it loses its partitions. A
    consumer that is busy between two polls has max.poll.interval.ms for it, which is what it sends as
    rebalance timeout.

    Example: rebalance timeout 60 s, still heartbeats after 70 s.

    What to do: join again when a heartbeat says so.
    """

    code = "GRP018"
    name = "rejoin-in-time"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("KIP-62", "spec/000 JoinGroup API")
    facts = (ClassicFact.REJOIN_OVERDUE,)
    expects = "JoinGroup within {} ms"
    sees = "{} ms, and a heartbeat"
