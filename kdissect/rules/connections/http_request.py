"""CON005: HTTP on a port where Kafka is spoken."""

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.session.problem import Reason


class HttpRequest(ProblemRule):
    """HTTP on a port where Kafka is spoken.

    Health checks, metrics scrapers and browsers do so. The broker reads the request as the size of a frame,
    too large for any, and closes.

    Example: `GET /metrics` on port 9092.

    What to do: let the check open a connection and close it, or ask the port where metrics are.
    """

    code = "CON005"
    name = "http-request"
    level = Level.INFO
    claim = Claim.REFUSED
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.network.NetworkReceive",)
    reasons = (Reason.HTTP,)
    expects = "a request of Kafka"
