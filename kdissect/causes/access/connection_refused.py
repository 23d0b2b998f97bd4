"""`connection-refused`: nobody listens where a client connects to, or nobody answers."""

from __future__ import annotations

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.causes.evidence.evidence import Evidence
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.session.problem import Reason


class ConnectionRefused(FailedConnection):
    """Connections answered with RST, or not at all, more often than a start takes."""

    id = "connection-refused"
    title = "Nobody answers where a client connects to"
    reasons = (Reason.REFUSED, Reason.NO_ANSWER)
    help = (
        "See whether the broker runs and listens on that address (listeners), and whether a firewall or"
        " security "
        "group lets the client through; else correct bootstrap.servers."
    )
    cites = (
        "org.apache.kafka.network.SocketServerConfigs#LISTENERS_CONFIG",
        "org.apache.kafka.clients.CommonClientConfigs#BOOTSTRAP_SERVERS_CONFIG",
    )

    def holds(self, problems: list[ConnectionProblem], seen: Evidence) -> bool:
        """One refusal is what a client meets that is started before its broker."""
        return len(problems) >= 3 or any(one.problem.reason is Reason.NO_ANSWER for one in problems)

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Who, and where."""
        is_refused = problems[0].problem.reason is Reason.REFUSED
        how = "was refused: nobody listened there then" if is_refused else "got no answer"
        return f"{host} tried {often(problems)} to connect to {end} and {how}."
