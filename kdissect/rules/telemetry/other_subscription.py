"""TEL002: PushTelemetry must name the subscription given last."""

from kdissect.history.sessions.telemetry_pushes import TelemetryFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class OtherSubscription(FactRule):
    """PushTelemetry must name the subscription given last.

    Brokers answer UNKNOWN_SUBSCRIPTION_ID, and the client asks for the new one.

    Example: subscription 9 given, 8 named.

    What to do: keep the id of the last GetTelemetrySubscriptions.
    """

    code = "TEL002"
    name = "telemetry-subscription"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714",)
    facts = (TelemetryFact.OTHER_SUBSCRIPTION,)
    expects = "subscription {}"
    sees = "subscription {}"
