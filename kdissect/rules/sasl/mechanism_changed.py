"""SAS006: re-authentication must keep the mechanism."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class MechanismChanged(FactRule):
    """Re-authentication must keep the mechanism.

    A broker refuses another one on the same connection.

    Example: PLAIN, and later SCRAM-SHA-256.

    What to do: open a new connection to change it.
    """

    code = "SAS006"
    name = "mechanism-changed"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-368",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator",
    )
    facts = (SaslFact.MECHANISM_CHANGED,)
