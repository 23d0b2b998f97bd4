"""TEL001: Metrics must not be larger than telemetry_max_bytes."""

from kdissect.history.sessions.telemetry_pushes import TelemetryFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class MetricsTooLarge(FactRule):
    """Metrics must not be larger than telemetry_max_bytes.

    The subscription names it; brokers answer TELEMETRY_TOO_LARGE.

    Example: 1,100,000 bytes with a maximum of 1,048,576.

    What to do: compress, or push fewer metrics.
    """

    code = "TEL001"
    name = "telemetry-size"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714",)
    facts = (TelemetryFact.TOO_LARGE,)
    expects = "{} bytes at most"
    sees = "{} bytes"
