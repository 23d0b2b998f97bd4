"""Rules: logins that the broker refuses."""

from collections.abc import Iterator

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.fact import Fact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Once, Violation
from kdissect.schema.error_codes import error_name


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


class LoginRefused(FactRule):
    """A login that the broker refuses.

    The answer to SaslAuthenticate has an error code. Who tried is named where the mechanism sends the name in
    clear, as PLAIN and SCRAM do. A fault of a password, a user or a token is none of the protocol.

    Example: PLAIN as bob, answered with SASL_AUTHENTICATION_FAILED.

    What to do: look at the credentials of the client, and at the users that the broker knows.
    """

    code = "SAS014"
    name = "login-refused"
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = (
        "KIP-152 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleSaslToken",
    )
    once = Once.SOFTWARE
    facts = (SaslFact.FAILED,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """The error by its name, and who tried."""
        tried = f": {fact.detail}" if fact.detail else ""
        yield Violation(
            "a login that succeeds", f"{error_name(fact.seen)}{tried}", "error_code", side=fact.side
        )
