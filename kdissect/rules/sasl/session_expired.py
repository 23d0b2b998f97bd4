"""SAS007: a client must authenticate again before its session ends."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class SessionExpired(FactRule):
    """A client must authenticate again before its session ends.

    The broker gave the session a lifetime, and closes the connection at the first request behind it.

    Example: a lifetime of one minute, and Metadata two minutes later.

    What to do: authenticate again within the lifetime.
    """

    code = "SAS007"
    name = "session-expired"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-368",
        "kafka.network.SocketServer",
    )
    facts = (SaslFact.SESSION_EXPIRED,)
