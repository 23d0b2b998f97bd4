"""TEL006: Nothing must be pushed after a push with terminating set."""

from kdissect.history.sessions.telemetry_pushes import TelemetryFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class PushedAfterEnd(FactRule):
    """Nothing must be pushed after a push with terminating set.

    It says that the client ends; brokers answer INVALID_REQUEST to another.

    Example: terminating, and a push a second later.

    What to do: set it once, in the last push.
    """

    code = "TEL006"
    name = "telemetry-end"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714",)
    facts = (TelemetryFact.AFTER_TERMINATING,)
    expects = "no push"
    sees = "another push"
