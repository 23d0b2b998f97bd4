"""Rules: times below 0."""

from collections.abc import Iterator

from kdissect.decoders.trees.node import Node
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import Below
from kdissect.rules.kinds import DomainRule, NodeRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body


class NegativeThrottle(NodeRule):
    """throttle_time_ms must not be negative.

    It says for how long a broker held the answer back, or for how long the client should wait.

    Example: throttle_time_ms -1.

    What to do: send 0 if the client is not throttled.
    """

    code = "BDY023"
    name = "negative-throttle"
    who = Who.BROKER
    cites = ("spec/003 Produce API", "KIP-219 Proposed Changes")
    nodes = (pieces.THROTTLE,)
    guard = (Below(("throttle_time_ms",), 0),)

    def check(self, node: Node, body: Body) -> Iterator[Violation]:
        """Yield the field of every response."""
        if node.value is not None and node.value < 0:
            yield Violation("0 or more", str(node.value))


class NegativeTimeout(DomainRule):
    """A timeout should not be negative.

    The effect on a broker depends on the API: CreateTopics and DeleteTopics do not wait, JoinGroup is
    refused with INVALID_SESSION_TIMEOUT. Fields where -1 means "unchanged" or "default" are left out.

    Example: Produce with timeout_ms -1.

    What to do: send the time the broker may take, in milliseconds.
    """

    code = "BDY024"
    name = "negative-timeout"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = (
        "spec/000 CreateTopics API",
        "spec/000 DeleteTopics API",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#joinGroup",
    )
    meanings = frozenset({"duration"})
    side = REQUEST
