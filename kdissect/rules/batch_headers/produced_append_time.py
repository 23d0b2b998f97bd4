"""REC023: A producer must not set the timestamp type to log append time."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class ProducedAppendTime(BatchRule):
    """A producer must not set the timestamp type to log append time.

    Only brokers do, when they append. Topics that use append time themselves answer INVALID_TIMESTAMP,
    others clear the bit.

    Example: attributes 0x0008 in a Produce.

    What to do: leave bit 3 clear.
    """

    code = "REC023"
    name = "produced-append-time"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.storage.internals.log.LogValidator",
        "spec/001 5.3.3 Old Message Format",
        "spec/001 5.3.1 Record Batch",
    )
    produced = True
    magics = (1, 2)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Bit 3 of produced batches."""
        if batch.batch.is_log_append_time:
            yield batch.fault(
                "attributes", "create time", f"{batch.batch.attributes & 0xFFFF:#06x}, log append time"
            )
