"""SAS001: credentials are readable in this capture."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ConnectionRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.connection_view import ConnectionView

_CLEAR = ("PLAIN", "OAUTHBEARER")


class VisibleCredentials(ConnectionRule):
    """Credentials are readable in this capture.

    PLAIN and OAUTHBEARER send a password or a token as it is. This connection is not encrypted.

    Example: SaslHandshake for PLAIN on a connection without TLS.

    What to do: use TLS, or SCRAM; keep the capture safe.
    """

    code = "SAS001"
    name = "visible-credentials"
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    needs = "the SaslHandshake of the connection"
    cites = ("RFC 4616 section 2", "RFC 7628 section 3.1")
    once = Once.SOFTWARE

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """Yield the mechanism of the connection."""
        if view.info.mechanism in _CLEAR:
            yield Violation("an encrypted connection", f"{view.info.mechanism} in clear")
