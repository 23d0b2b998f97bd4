"""`health-probe`: something connects to a broker and closes without a word, again and again."""

from __future__ import annotations

from typing import ClassVar

from kdissect.causes.access.failed_connection import FailedConnection, often
from kdissect.causes.evidence.evidence import Evidence
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.cause import Severity
from kdissect.session.problem import Reason


class HealthProbe(FailedConnection):
    """Connections without a byte."""

    id = "health-probe"
    title = "Something probes the port of a broker"
    severity = Severity.WASTES
    reasons: ClassVar[tuple[Reason, ...]] = (Reason.PROBE,)
    help = (
        "A load balancer or monitor checks whether the port is open. It harms nothing, but fills logs and"
        " counts as"
        " connections: probe less often, or by a request such as ApiVersions."
    )
    cites = ("spec/000 Network",)

    def holds(self, problems: list[ConnectionProblem], seen: Evidence) -> bool:
        """Return True for several connections: a client that ends while it connects looks so once."""
        return len(problems) >= 5

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and how often."""
        has_header = any(one.connection.proxy is not None for one in problems)
        what = "without more than a PROXY protocol header" if has_header else "without a byte"
        return f"{host} connected to {end} {often(problems)} and closed {what}, as health checks do."
