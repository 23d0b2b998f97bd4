"""`proxy-header-refused`: a proxy sends a PROXY protocol header to a listener that does not expect it."""

from __future__ import annotations

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.session.problem import Reason


class ProxyHeaderRefused(FailedConnection):
    """Connections that the broker closed after a header: without a byte, or with a TLS alert of Java."""

    id = "proxy-header-refused"
    title = "A broker refuses a PROXY protocol header"
    reasons = (Reason.PROXY_REFUSED,)
    help = (
        "Apache Kafka reads the header as the size of a request (1347571544 for version 1, 218762506 for"
        " version 2) and closes. Switch the header off at the proxy (send-proxy of HAProxy, proxy protocol"
        " of a target group), or put something that accepts the header before the broker."
    )
    cites = (
        "PROXY 2.1",
        "org.apache.kafka.common.network.NetworkReceive#readFrom",
    )

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and where."""
        return (
            f"The proxy at {host} sends a PROXY protocol header to {end}: {often(problems)} the broker closed"
            f" {_how(problems)}, as a listener does that expects no header."
        )


def _how(problems: list[ConnectionProblem]) -> str:
    with_alert = sum(bool(one.connection.tls is not None and one.connection.tls.alerts) for one in problems)
    if not with_alert:
        return "without a byte"
    return "with a TLS alert" if with_alert == len(problems) else "without a byte or with a TLS alert"
