"""SAS013: A SASL mechanism that the broker does not have."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Once


class MechanismNotOffered(FactRule):
    """A SASL mechanism that the broker does not have.

    The answer to SaslHandshake refuses it, and lists those that the listener has.

    Example: SCRAM-SHA-256, where PLAIN and SCRAM-SHA-512 are enabled.

    What to do: set sasl.mechanism of the client to one of them, or sasl.enabled.mechanisms of the broker.
    """

    code = "SAS013"
    name = "mechanism-not-offered"
    level = Level.INFO
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "spec/000 SASL Authentication Sequence",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleHandshakeRequest",
    )
    once = Once.SOFTWARE
    facts = (SaslFact.MECHANISM_REFUSED,)
    expects = "one of {}"
