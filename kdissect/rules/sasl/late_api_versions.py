"""SAS009: ApiVersions must come before SaslHandshake, not between it and the end of authentication."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


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
    cites = ("KIP-43", "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator")
    facts = (SaslFact.API_VERSIONS_LATE,)
    expects = "SASL tokens until authentication ends"
    sees = "ApiVersions"
