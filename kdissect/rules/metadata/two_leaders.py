"""MET006: an epoch must have one leader."""

from kdissect.history.epochs.leader_epochs import LeaderFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


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
    cites = ("KIP-320",)
    facts = (LeaderFact.TWO_LEADERS,)
