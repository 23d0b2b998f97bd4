"""SAS002: until authentication is over, only SASL requests may be sent."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class RequestBeforeAuthentication(FactRule):
    """Until authentication is over, only SASL requests may be sent.

    A handshake opened the exchange of tokens, and another request came before its end. Brokers close the
    connection.

    Example: SaslHandshake, then Metadata.

    What to do: finish the exchange of tokens first.
    """

    code = "SAS002"
    name = "request-before-authentication"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "spec/000 SASL Authentication Sequence",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator",
    )
    facts = (SaslFact.REQUEST_BEFORE_END,)
    expects = "SASL tokens until authentication ends"
    sees = "a request of API key {}"
