"""`tls-to-plaintext`: a client speaks TLS, the listener plaintext."""

from __future__ import annotations

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.session.problem import Reason


class TlsToPlaintext(FailedConnection):
    """Connections that failed for that reason."""

    id = "tls-to-plaintext"
    title = "A client speaks TLS to a plaintext port"
    reasons = (Reason.TLS_TO_PLAINTEXT,)
    help = (
        "Set security.protocol of the client to PLAINTEXT or SASL_PLAINTEXT, or have it connect to the"
        " port of a listener "
        "with TLS (SSL or SASL_SSL in listener.security.protocol.map)."
    )
    cites = (
        "org.apache.kafka.clients.CommonClientConfigs#SECURITY_PROTOCOL_CONFIG",
        "RFC 8446 section 4.1.2",
    )

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and where."""
        return (
            f"{host} speaks TLS to {end}, which speaks plaintext: {often(problems)} the broker closed without"
            " a byte."
        )
