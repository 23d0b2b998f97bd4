"""SAS004: SaslAuthenticate must follow a SaslHandshake."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class NoHandshake(FactRule):
    """SaslAuthenticate must follow a SaslHandshake.

    Without it the broker does not know the mechanism, and answers ILLEGAL_SASL_STATE.

    Example: SaslAuthenticate as the first request.

    What to do: send SaslHandshake v1 first.
    """

    code = "SAS004"
    name = "no-handshake"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-152",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator",
    )
    facts = (SaslFact.WITHOUT_HANDSHAKE,)
    expects = "SaslHandshake first"
    sees = "SaslAuthenticate without it"
