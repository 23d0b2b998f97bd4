"""Rules: the order of offsets in a Fetch response."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import Exceeds, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


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
        """Yield the offsets of each partition without an error."""
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


class AbortedOutOfOrder(BodyRule):
    """Aborted transactions should stand in the order of their first offsets.

    A consumer walks the list along the records.

    Example: first offsets 10, 4.

    What to do: sort the list.
    """

    code = "FET006"
    name = "aborted-out-of-order"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    cites = ("org.apache.kafka.clients.consumer.internals.CompletedFetch#consumeAbortedTransactionsUpTo",)
    on = (("Fetch", RESPONSE),)
    versions = Versions(4, NO_UPPER_BOUND)
    guard = (Longer(("aborted_transactions",), 1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the list of each partition."""
        for _, partition, at in body.partitions("responses"):
            firsts = [item.first_offset for item in partition.aborted_transactions or ()]
            if firsts != sorted(firsts):
                path = f"{at}.aborted_transactions"
                yield body.violation(path, "ascending first offsets", ", ".join(map(str, firsts[:8])))
