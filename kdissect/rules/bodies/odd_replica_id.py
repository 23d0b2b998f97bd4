"""BDY027: replica_id should not be below -2."""

from collections.abc import Iterator

from kdissect.model.finding import Level, Who
from kdissect.rules.guards import Below
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class OddReplicaId(BodyRule):
    """replica_id should not be below -2.

    -1 is a consumer, -2 a debugging consumer, 0 and more a broker that follows.

    Example: replica_id -3 in a Fetch request.

    What to do: send -1.
    """

    code = "BDY027"
    name = "odd-replica-id"
    level = Level.SHOULD
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.common.requests.FetchRequest#describeReplicaId",
        "org.apache.kafka.common.requests.ListOffsetsRequest#DEBUGGING_REPLICA_ID",
    )
    on = (("Fetch", REQUEST), ("ListOffsets", REQUEST))
    guard = (Below((".replica_id",), -2),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The field, where the version has it."""
        replica = getattr(body.value, "replica_id", None)
        if replica is not None and replica < -2:
            yield body.violation("replica_id", "-2 or more", str(replica))
