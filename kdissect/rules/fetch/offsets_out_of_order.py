"""FET005: log start, last stable offset and high watermark mostly stand in this order."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import Exceeds
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body


class OffsetsOutOfOrder(BodyRule):
    """Log start, last stable offset and high watermark mostly stand in this order.

    Apache Kafka reads them one after the other while the log grows, so that small steps out of order are
    legal. -1 means unknown.

    Example: log_start_offset 9 and high_watermark 4.

    What to do: look closer if it lasts.
    """

    code = "FET005"
    name = "offsets-out-of-order"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-98 Proposed Changes", "kafka.server.ReplicaManager#readFromLog")
    on = (("Fetch", RESPONSE),)
    once = Once.PARTY
    guard = (
        Exceeds("last_stable_offset", "high_watermark"),
        Exceeds("log_start_offset", "high_watermark"),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """The offsets of each partition without an error."""
        for _, partition, at in body.partitions("responses"):
            if partition.error_code:
                continue
            high = partition.high_watermark
            stable = getattr(partition, "last_stable_offset", -1)
            start = getattr(partition, "log_start_offset", -1)
            if high >= 0 and max(stable, start) > high:
                path = f"{at}.high_watermark"
                yield body.violation(
                    path, "at least log start and last stable offset", f"{start}, {stable}, {high}"
                )
