"""REC024: Clients must not produce control batches."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class ProducedControlBatch(BatchRule):
    """Clients must not produce control batches.

    Markers of transactions are the coordinators' work, by WriteTxnMarkers. Brokers answer INVALID_RECORD.

    Example: attributes 0x0020 in a Produce.

    What to do: end transactions with EndTxn.
    """

    code = "REC024"
    name = "produced-control-batch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.storage.internals.log.LogValidator", "spec/001 5.3.1.1 Control Batches")
    shadows = ("REC041", "REC042")  # what is no marker has no key of one
    produced = True
    magics = (2,)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Bit 5 of produced batches."""
        if batch.batch.is_control:
            yield batch.fault("attributes", "no control batch", f"{batch.batch.attributes & 0xFFFF:#06x}")
