"""Rules: the leader epoch of a partition."""

from kdissect.history.epochs.leader_epochs import LeaderFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule


class EpochWentBack(FactRule):
    """The leader epoch of a partition should not go back.

    The same broker told a higher one before, of the same topic id. Clients that keep epochs ignore the
    older.

    Example: epoch 4, then epoch 2.

    What to do: look at the age of the metadata.
    """

    code = "MET005"
    name = "leader-epoch-back"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-320 Proposed Changes", "org.apache.kafka.clients.Metadata#updateLastSeenEpochIfNewer")
    facts = (LeaderFact.WENT_BACK,)


class TwoLeaders(FactRule):
    """An epoch must have one leader.

    Every new leader raises the epoch.

    Example: leaders 1 and 3 in epoch 4.

    What to do: look at the controller.
    """

    code = "MET006"
    name = "two-leaders"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-320 Proposed Changes", "org.apache.kafka.clients.Metadata#updateLastSeenEpochIfNewer")
    facts = (LeaderFact.TWO_LEADERS,)
