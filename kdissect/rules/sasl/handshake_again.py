"""SAS003: a second handshake must wait for the end of the first authentication."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class HandshakeAgain(FactRule):
    """A second handshake must wait for the end of the first authentication.

    Once authenticated, a client may begin again (KIP-368); in between it may not.

    Example: two SaslHandshake requests in a row.

    What to do: send the tokens of the first handshake.
    """

    code = "SAS003"
    name = "handshake-again"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-368",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator",
    )
    facts = (SaslFact.HANDSHAKE_AGAIN,)
    expects = "SASL tokens"
    sees = "another SaslHandshake"
