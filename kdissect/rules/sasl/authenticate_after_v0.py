"""SAS005: SaslAuthenticate must not follow SaslHandshake v0."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class AuthenticateAfterV0(FactRule):
    """SaslAuthenticate must not follow SaslHandshake v0.

    After version 0 tokens travel in raw frames; the broker takes the request for a token.

    Example: SaslHandshake v0, then SaslAuthenticate.

    What to do: use SaslHandshake v1.
    """

    code = "SAS005"
    name = "authenticate-after-v0"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-152",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator",
    )
    facts = (SaslFact.AFTER_RAW_HANDSHAKE,)
    expects = "bare tokens"
    sees = "SaslAuthenticate"
