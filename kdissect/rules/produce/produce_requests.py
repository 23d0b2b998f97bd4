"""Rules: what a Produce request must hold."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import Empty, Other
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class InvalidAcks(BodyRule):
    """acks must be -1, 0 or 1.

    All in-sync replicas, none, or the leader. Kafka 0.8 took a number of replicas. Brokers since 0.9 answer
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
        """Yield the field."""
        if body.value.acks not in (-1, 0, 1):
            yield body.violation("acks", "-1, 0 or 1", str(body.value.acks))


class NoRecords(BodyRule):
    """A partition in Produce v3 and later must hold one record batch.

    Brokers refuse null and empty records with INVALID_RECORD or CORRUPT_MESSAGE.

    Example: records of length 0.

    What to do: leave the partition out.
    """

    code = "PRD002"
    name = "produce-without-records"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.requests.ProduceRequest#validateRecords",)
    on = (("Produce", REQUEST),)
    versions = Versions(3, NO_UPPER_BOUND)
    guard = (Empty(("records",)),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield records of each partition."""
        for _, partition, at in body.partitions("topic_data", "partition_data"):
            if not partition.records:
                seen = "null" if partition.records is None else "empty"
                yield body.violation(f"{at}.records", "a record batch", seen)
