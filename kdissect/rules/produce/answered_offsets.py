"""PRD014: Appended records are at or above the start of the log."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import Exceeds
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class AppendedBelowStart(BodyRule):
    """An appended batch should be at or above the start of the log.

    The leader reads both offsets when it appends. Only a batch that it had already, whose records were
    deleted since, may stand below.

    Example: base_offset 5 and log_start_offset 50.

    What to do: look at the order of the fields, or for a broker that lost its log.
    """

    code = "PRD014"
    name = "appended-below-start"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/003 Produce API",)
    on = (("Produce", RESPONSE),)
    versions = Versions(5, NO_UPPER_BOUND)
    guard = (Exceeds("log_start_offset", "base_offset"),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield accepted partitions."""
        for _, partition, at in body.partitions("responses", "partition_responses"):
            base, start = partition.base_offset, partition.log_start_offset
            if not partition.error_code and 0 <= base < start:
                yield body.violation(f"{at}.log_start_offset", f"{base} or less, the base offset", str(start))
