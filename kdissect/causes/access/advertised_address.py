"""`advertised-address`: clients are sent to an address that does not answer."""

from __future__ import annotations

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.session.problem import Reason


class AdvertisedAddress(FailedConnection):
    """Connections that failed for that reason."""

    id = "advertised-address"
    title = "Brokers advertise an address that clients cannot reach"
    reasons = (
        Reason.ADVERTISED_UNREACHED,
        Reason.ADVERTISED_UNTRIED,
    )
    help = (
        "Set advertised.listeners of the brokers to an address that this client can resolve and reach:"
        " with containers and "
        "clouds one listener for clients inside, one for clients outside."
    )
    cites = ("org.apache.kafka.network.SocketServerConfigs#ADVERTISED_LISTENERS_CONFIG",)

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and where."""
        return f"{host} cannot work: {often(problems)} {problems[0].problem.fact}."
