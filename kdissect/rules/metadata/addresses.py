"""MET013: An address of a broker must be one that a client can connect to."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_MAX_PORT = 65_535  # RFC 9293 section 3.1: 16 bits; 0 is no port to connect to


class BadAddress(BodyRule):
    """An address of a broker must be one that a client can connect to.

    That is a host, a port from 1 to 65535, and a node id of 0 or more. A coordinator that is not found has an
    error beside it, and no address.

    Example: port 70000, an empty host, or node -1 without an error.

    What to do: look at advertised.listeners, or at the proxy that rewrites addresses.
    """

    code = "MET013"
    name = "bad-address"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("spec/000 Metadata API", "spec/000 GroupCoordinator API")
    on = (("Metadata", RESPONSE), ("FindCoordinator", RESPONSE), ("DescribeCluster", RESPONSE))

    def check(self, body: Body) -> Iterator[Violation]:
        """Brokers and coordinators; the first fault of each."""
        answer = body.value
        if getattr(answer, "error_code", 0):
            return
        if hasattr(answer, "host"):
            yield from _faults(body, answer, "")
        for name in ("brokers", "coordinators"):
            for index, end in enumerate(getattr(answer, name, None) or ()):
                if not getattr(end, "error_code", 0):
                    yield from _faults(body, end, f"{name}[{index}].")


def _faults(body: Body, end: Any, at: str) -> Iterator[Violation]:
    field = "broker_id" if hasattr(end, "broker_id") else "node_id"
    node = getattr(end, field)
    if not end.host:
        yield body.violation(f"{at}host", "a host", "an empty one")
    elif not 0 < end.port <= _MAX_PORT:
        yield body.violation(f"{at}port", f"1 to {_MAX_PORT}", str(end.port))
    elif node < 0:
        yield body.violation(f"{at}{field}", "0 or more", str(node))
