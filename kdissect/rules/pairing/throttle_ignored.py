"""PAI010: a client should stay silent for throttle_time_ms."""

from kdissect.history.connections.throttling import ThrottleFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule


class ThrottleIgnored(FactRule):
    """A client should stay silent for throttle_time_ms.

    Brokers that answer first and mute the connection then (KIP-219) do not read it in the meantime.

    Example: throttle_time_ms 500, and a request 200 ms later.

    What to do: wait.
    """

    code = "PAI010"
    name = "throttle-ignored"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("KIP-219 Proposed Changes",)
    facts = (ThrottleFact.IGNORED,)
