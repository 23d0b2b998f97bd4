"""REC025: A producer must not set the bit of the delete horizon."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class ProducedDeleteHorizon(BatchRule):
    """A producer must not set the bit of the delete horizon.

    Compaction sets it when it decides how long tombstones stay, and the base timestamp then says until
    when. Brokers would take the time of the first record for that.

    Example: attributes 0x0040 in a Produce.

    What to do: leave bit 6 clear.
    """

    code = "REC025"
    name = "produced-delete-horizon"
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-534", "spec/001 5.3.1 Record Batch")
    produced = True
    magics = (2,)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Bit 6 of produced batches."""
        if batch.batch.delete_horizon_ms is not None:
            yield batch.fault("attributes", "no delete horizon", f"{batch.batch.attributes & 0xFFFF:#06x}")
