"""REC038: A batch that commits or aborts must hold one record."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import RecordRule
from kdissect.rules.records.markers import marker_of
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class SeveralMarkers(RecordRule):
    """A batch that commits or aborts must hold one record.

    Readers look at the first one only. Compaction may leave none. Control batches of Raft, of other types,
    may hold several.

    Example: a commit and an abort in one batch.

    What to do: write a batch for each marker.
    """

    code = "REC038"
    name = "one-marker"
    who = Who.BROKER
    cites = ("spec/001 5.3.1.1 Control Batches", "org.apache.kafka.common.record.internal.MemoryRecords")
    produced = False
    magics = (2,)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The count of batches whose first record commits or aborts."""
        if marker_of(batch) is not None and batch.batch.count != 1:
            yield batch.fault("count", 1, batch.batch.count)
