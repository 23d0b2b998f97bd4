"""`tls-handshake-failed`: one end ends the handshake of TLS."""

from __future__ import annotations

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.session.problem import Reason


class TlsHandshakeFailed(FailedConnection):
    """Connections that came to nothing so."""

    id = "tls-handshake-failed"
    title = "The TLS handshake fails"
    reasons = (
        Reason.TLS_REFUSED,
        Reason.CERTIFICATE_NAME,
    )
    help = (
        "Who ended it says why: unknown_ca and certificate_unknown are about the truststore of that end,"
        " bad_certificate about "
        "the name in the certificate or a missing client certificate, protocol_version about"
        " ssl.enabled.protocols."
    )
    cites = ("RFC 8446 section 6.2",)

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Who, and where."""
        return f"{host} cannot connect to {end}: {often(problems)} {problems[0].problem.fact}."
