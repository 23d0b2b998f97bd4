"""REC016: A partition in Produce v3 and later must hold one record batch only."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.model.wording import plural
from kdissect.rules.batch import Batch
from kdissect.rules.kinds import BatchRule
from kdissect.rules.records.old_magic_produced import MAGIC_2_FROM
from kdissect.rules.rule import Fault


class SeveralBatches(BatchRule):
    """A partition in Produce v3 and later must hold one record batch only.

    Brokers answer INVALID_RECORD. Sequence numbers and offsets are given for one batch.

    Example: two batches, one behind the other.

    What to do: send the second batch in a request of its own.
    """

    code = "REC016"
    name = "one-batch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.common.requests.ProduceRequest",
        "org.apache.kafka.storage.internals.log.LogValidator",
    )
    produced = True

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The second batch of a partition."""
        if batch.version >= MAGIC_2_FROM and batch.index == 1:
            yield batch.fault(
                "base_offset",
                "one batch",
                plural(len(batch.records.found.found.batches), "batch", "batches"),
            )
