"""`plaintext-to-tls`: a client speaks plaintext, the listener TLS."""

from __future__ import annotations

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.session.problem import Reason


class PlaintextToTls(FailedConnection):
    """Connections that failed for that reason."""

    id = "plaintext-to-tls"
    title = "A client speaks plaintext to a TLS port"
    reasons = (Reason.PLAINTEXT_TO_TLS,)
    help = (
        "Set security.protocol of the client to SSL or SASL_SSL, or have it connect to the port of a"
        " listener without TLS. "
        "The client reads the alert as a response size, and reports 352518912 bytes or too little memory."
    )
    cites = ("org.apache.kafka.clients.CommonClientConfigs#SECURITY_PROTOCOL_CONFIG", "RFC 8446 section 6")

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and where."""
        return (
            f"{host} speaks plaintext to {end}, which speaks TLS: {often(problems)} it was answered with a"
            " TLS alert."
        )
