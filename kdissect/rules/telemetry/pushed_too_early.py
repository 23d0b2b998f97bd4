"""TEL003: Metrics must not be pushed before push_interval_ms is over."""

from kdissect.history.sessions.telemetry_pushes import TelemetryFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class PushedTooEarly(FactRule):
    """Metrics must not be pushed before push_interval_ms is over.

    Brokers answer THROTTLING_QUOTA_EXCEEDED. The last push of a client that ends may come at any time. Told
    where less than half the interval went by.

    Example: interval 300 s, a push after 100 s.

    What to do: wait for the interval, counted from the last push.
    """

    code = "TEL003"
    name = "telemetry-interval"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-714",)
    facts = (TelemetryFact.TOO_EARLY,)
    expects = "a push {} ms after the last"
    sees = "{} ms"
