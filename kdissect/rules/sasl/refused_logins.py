"""Rules: mechanisms and logins that a broker refuses, or accepts though it does not list them."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.fact import Fact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.error_codes import error_name

_NAME = re.compile(r"[A-Z0-9_-]{1,20}")  # of a mechanism: RFC 4422 section 3.1


class MechanismNotOffered(FactRule):
    """A SASL mechanism that the broker does not have.

    The answer to SaslHandshake refuses it, and lists the mechanisms of the listener.

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

    def check(self, fact: Fact) -> Iterable[Violation]:
        """Return a mechanism that is not in the list."""
        return [] if fact.seen in fact.expected else super().check(fact)


class RefusedThoughListed(FactRule):
    """A SASL mechanism that the broker refuses should not be in its list.

    The answer to SaslHandshake names the mechanisms that the broker has. A client that gets an error for one
    of them cannot choose better. Brokers that do not know re-authentication answer a second handshake of a
    connection so.

    Example: UNSUPPORTED_SASL_MECHANISM to SCRAM-SHA-256, and a list with SCRAM-SHA-256.

    What to do: take the mechanism. A broker that cannot re-authenticate gives no session lifetime.
    """

    code = "SAS016"
    name = "refused-though-listed"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = (
        "spec/000 SASL Authentication Sequence",
        "KIP-368 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleHandshakeRequest",
    )
    facts = (SaslFact.MECHANISM_REFUSED,)
    expects = "no error: {} are listed"
    sees = "{} refused"

    def check(self, fact: Fact) -> Iterable[Violation]:
        """Return a mechanism that is in the list."""
        return super().check(fact) if fact.seen in fact.expected else []


class LoginRefused(FactRule):
    """A login that the broker refuses.

    The answer to SaslAuthenticate has an error code. Who tried is named where the mechanism sends the name in
    clear, as PLAIN and SCRAM do. A wrong password, user or token is not a fault in the protocol.

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
        """Yield the error by its name, and who tried."""
        tried = f": {fact.detail}" if fact.detail else ""
        yield Violation(
            "a login that succeeds", f"{error_name(fact.seen)}{tried}", "error_code", side=fact.side
        )


class MechanismNotListed(BodyRule):
    """A mechanism that a broker accepts must be among those it lists.

    SaslHandshake is answered with the mechanisms that are enabled. If the requested mechanism is not among
    them, the error is UNSUPPORTED_SASL_MECHANISM.

    Example: SCRAM-SHA-256 asked for, error 0, and PLAIN alone in the list.

    What to do: list what is enabled, or refuse what is not.
    """

    code = "SAS015"
    name = "mechanism-not-listed"
    who = Who.BROKER
    cites = (
        "spec/000 SaslHandshake API",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleHandshakeRequest",
    )
    on = (("SaslHandshake", RESPONSE),)
    needs = "the request as well"

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the mechanism of the request."""
        asked, listed = body.other(), body.value.mechanisms
        if asked is None or body.value.error_code or asked.mechanism in listed:
            return
        if all(map(_is_name, (asked.mechanism, *listed))):  # anything else is damaged, and may be a secret
            yield body.violation("mechanisms", asked.mechanism, ", ".join(listed) or "none")


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and _NAME.fullmatch(text) is not None
