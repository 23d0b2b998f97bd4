"""PRD001: acks must be -1, 0 or 1."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import Other
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class InvalidAcks(BodyRule):
    """acks must be -1, 0 or 1.

    All in-sync replicas, none, or the leader. Kafka 0.8 took a number of replicas; brokers since 0.9 answer
    INVALID_REQUIRED_ACKS.

    Example: acks 2.

    What to do: send -1 for more than the leader.
    """

    code = "PRD001"
    name = "invalid-acks"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("spec/000 Produce API", "kafka.server.ReplicaManager#isValidRequiredAcks")
    on = (("Produce", REQUEST),)
    overrides = ("PRD003",)
    guard = (Other((".acks",), frozenset({-1, 0, 1})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The field."""
        if body.value.acks not in (-1, 0, 1):
            yield body.violation("acks", "-1, 0 or 1", str(body.value.acks))
