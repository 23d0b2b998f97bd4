"""FET006: aborted transactions should stand in the order of their first offsets."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


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
        """The list of each partition."""
        for _, partition, at in body.partitions("responses"):
            firsts = [item.first_offset for item in partition.aborted_transactions or ()]
            if firsts != sorted(firsts):
                path = f"{at}.aborted_transactions"
                yield body.violation(path, "ascending first offsets", ", ".join(map(str, firsts[:8])))
