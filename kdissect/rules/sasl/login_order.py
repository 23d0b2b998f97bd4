"""Rules: the order of requests while a client logs in."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Severity, Who
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
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleKafkaRequest",
    )
    facts = (SaslFact.REQUEST_BEFORE_END,)
    expects = "SASL tokens until authentication ends"
    sees = "a request of API key {}"


class HandshakeAgain(FactRule):
    """A second handshake must wait for the end of the first authentication.

    Once authenticated, a client may begin again (KIP-368). In between it may not.

    Example: two SaslHandshake requests in a row.

    What to do: send the tokens of the first handshake.
    """

    code = "SAS003"
    name = "handshake-again"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-368 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleSaslToken",
    )
    facts = (SaslFact.HANDSHAKE_AGAIN,)
    expects = "SASL tokens"
    sees = "another SaslHandshake"


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
        "KIP-152 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleKafkaRequest",
    )
    facts = (SaslFact.WITHOUT_HANDSHAKE,)
    expects = "SaslHandshake first"
    sees = "SaslAuthenticate without it"


class AuthenticateAfterV0(FactRule):
    """SaslAuthenticate must not follow SaslHandshake v0.

    After version 0 tokens travel in raw frames. The broker takes the request for a token.

    Example: SaslHandshake v0, then SaslAuthenticate.

    What to do: use SaslHandshake v1.
    """

    code = "SAS005"
    name = "authenticate-after-v0"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-152 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleSaslToken",
    )
    facts = (SaslFact.AFTER_RAW_HANDSHAKE,)
    expects = "bare tokens"
    sees = "SaslAuthenticate"


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
        "KIP-368 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleKafkaRequest",
    )
    facts = (SaslFact.MECHANISM_CHANGED,)


class SessionExpired(FactRule):
    """A client must authenticate again before its session ends.

    The broker gave the session a lifetime, and closes the connection at the first request after it.

    Example: a lifetime of one minute, and Metadata two minutes later.

    What to do: authenticate again within the lifetime.
    """

    code = "SAS007"
    name = "session-expired"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-368 Proposed Changes", "kafka.network.Processor#processCompletedReceives")
    facts = (SaslFact.SESSION_EXPIRED,)


class UsedAfterFailure(FactRule):
    """A connection must end when authentication fails.

    Brokers close it after a delay, and does not answer requests in between.

    Example: SASL_AUTHENTICATION_FAILED, then Metadata.

    What to do: close the connection and begin again.
    """

    code = "SAS008"
    name = "used-after-failure"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("spec/000 SASL Authentication Sequence",)
    facts = (SaslFact.USED_AFTER_FAILURE,)
    expects = "no request after a failure"
    sees = "a request of API key {}"


class LateApiVersions(FactRule):
    """ApiVersions must come before SaslHandshake, not between it and the end of authentication.

    Brokers take it as the first request only, and once more after an answer in version 0; later they close
    the connection.

    Example: SaslHandshake, then ApiVersions, then the tokens.

    What to do: ask for the versions first.
    """

    code = "SAS009"
    name = "late-api-versions"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "spec/000 SASL Authentication Sequence",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleApiVersionsRequest",
    )
    facts = (SaslFact.API_VERSIONS_LATE,)
    expects = "SASL tokens until authentication ends"
    sees = "ApiVersions"
