"""REC040: A batch that commits or aborts must be transactional and name the producer."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.rules.kinds import RecordRule
from kdissect.rules.records.markers import marker_of
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class MarkerWithoutProducer(RecordRule):
    """A batch that commits or aborts must be transactional and name the producer.

    Readers end the transaction of the producer id that the batch names.

    Example: a commit with producer id -1.

    What to do: copy producer id and epoch from the request of the coordinator.
    """

    code = "REC040"
    name = "marker-producer"
    who = Who.BROKER
    cites = ("KIP-98", "org.apache.kafka.common.record.internal.MemoryRecords")
    produced = False
    magics = (2,)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Transactional bit and producer id of markers."""
        found = batch.batch
        if marker_of(batch) is None:
            return
        if not found.is_transactional:
            yield batch.fault("attributes", "transactional", f"{found.attributes & 0xFFFF:#06x}")
        elif found.producer_id == NO_PRODUCER_ID:
            yield batch.fault("producer_id", "a producer id", "-1")
