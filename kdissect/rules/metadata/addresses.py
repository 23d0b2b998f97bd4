"""MET013: An address of a broker must be one that a client can connect to."""

from collections.abc import Iterator

from kdissect.decoders.generated.values import sent, structs
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import Above, Below, Empty
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_KNOWN = ("Metadata", "FindCoordinator", "DescribeCluster")
_MOVED = (
    "BeginQuorumEpoch", "DescribeQuorum", "EndQuorumEpoch", "FetchSnapshot",
    "UpdateRaftVoter", "Vote",
)  # fmt: skip
"""Their addresses come with an error, mostly in tags: KIP-951, KIP-853."""
_NODES = ("broker_id", "node_id", "leader_id")
"""Names of the node whose address it is. CurrentLeader without a leader has no address."""
_MAX_PORT = 65_535  # RFC 9293 section 3.1: 16 bits; 0 is no port to connect to


class BadAddress(BodyRule):
    """An address of a broker must be one that a client can connect to.

    That is a host, a port from 1 to 65535, and a node id of 0 or more. A coordinator that is not found has an
    error and no address. The same holds for the addresses of new leaders that come with an error
    (NodeEndpoints, CurrentLeader) and for the listeners of controllers.

    Example: port 70000, an empty host, or node -1 without an error.

    What to do: look at advertised.listeners, or at the proxy that rewrites addresses.
    """

    code = "MET013"
    name = "bad-address"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("spec/000 Metadata API", "spec/000 GroupCoordinator API")
    on = tuple((name, RESPONSE) for name in (*_KNOWN, *_MOVED))
    guard = (
        Empty(("host",)),
        Below(("port",), 1),
        Above(("port",), _MAX_PORT),
        Below(("node_id", "broker_id"), 0),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each struct with a host, with its first fault."""
        answer = body.value
        if body.api.name in _KNOWN and sent(answer, "error_code", 0):
            return
        for at, end in structs(answer, ""):
            field, node = next(
                ((name, sent(end, name)) for name in _NODES if sent(end, name) is not None), ("", 0)
            )
            if sent(end, "host") is None or sent(end, "error_code", 0) or (field == "leader_id" and node < 0):
                continue
            if not end.host:
                yield body.violation(f"{at}host", "a host", "an empty one")
            elif not 0 < end.port <= _MAX_PORT:
                yield body.violation(f"{at}port", f"1 to {_MAX_PORT}", str(end.port))
            elif node < 0:
                yield body.violation(f"{at}{field}", "0 or more", str(node))
