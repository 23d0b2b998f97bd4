"""Rules: the form of tokens."""

from collections.abc import Iterator

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.fact import Fact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Violation


class BadPlainToken(FactRule):
    """A PLAIN token must be an authorization identity, a user and a password with NULs between them.

    Two NULs, the user and the password not empty. The identity mostly is. Brokers answer
    SASL_AUTHENTICATION_FAILED. Findings show no byte of it.

    Example: a token with one NUL.

    What to do: send NUL, user, NUL, password.
    """

    code = "SAS010"
    name = "plain-token"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "RFC 4616 section 2",
        "org.apache.kafka.common.security.plain.internals.PlainSaslServer#extractTokens",
    )
    facts = (SaslFact.TOKEN_DIFFERS,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield the form of the token, without its secret bytes."""
        if fact.expected != "PLAIN":
            return
        for fault in super().check(fact):
            yield fault._replace(expected="[identity] NUL user NUL password", seen=fact.detail, path="")


class BadScramToken(FactRule):
    """SCRAM tokens must follow each other, and carry the nonces on.

    The client's nonce, the server's that begins with it, at least 4096 iterations, a salt, then the proof
    with the server's nonce. Either end stops otherwise. Findings show no byte of them.

    Example: a server nonce that does not begin with the client's.

    What to do: use a library for it. Check what the other end sends.
    """

    code = "SAS011"
    name = "scram-tokens"
    cites = (
        "RFC 5802 section 5",
        "RFC 7677 section 4",
        "org.apache.kafka.common.security.scram.internals.ScramSaslServer#evaluateResponse",
    )
    facts = (SaslFact.TOKEN_DIFFERS,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield the form of the token, without its secret bytes."""
        if fact.expected == "PLAIN":
            return
        for fault in super().check(fact):
            yield fault._replace(expected="the messages of SCRAM", seen=fact.detail, path="")
