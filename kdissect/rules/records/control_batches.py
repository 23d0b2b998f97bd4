"""Rules: control batches."""

from collections.abc import Iterator

from kdissect.decoders.records.control import control_key
from kdissect.model.finding import Who
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.model.wording import plural
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch

_ABORT, _COMMIT = 0, 1  # org.apache.kafka.common.record.internal.ControlRecordType


def _marker_of(batch: Batch) -> int | None:
    """Return the type of the first record in a broker's control batch, if it commits or aborts."""
    if not batch.batch.is_control or not batch.content:
        return None
    key = control_key(batch.content[0].key)
    return key.type if key is not None and key.type in (_ABORT, _COMMIT) else None


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
    cites = (
        "spec/001 5.3.1.1 Control Batches",
        "org.apache.kafka.common.record.internal.MemoryRecords#withEndTransactionMarker",
    )
    produced = False
    magics = (2,)
    guard = BatchFact.CONTROL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the count of batches whose first record commits or aborts."""
        if _marker_of(batch) is not None and batch.batch.count != 1:
            yield batch.violation("count", 1, batch.batch.count)


class BadControlKey(RecordRule):
    """The key of a control record must hold a version and a type.

    Two int16, the version 0 or more. Readers know by it whether to commit or to abort.

    Example: a key of 2 bytes.

    What to do: write version 0 and the type.
    """

    code = "REC039"
    name = "control-key"
    who = Who.BROKER
    cites = (
        "spec/001 5.3.1.1 Control Batches",
        "org.apache.kafka.common.record.internal.ControlRecordType#parse",
    )
    produced = False
    magics = (2,)
    overrides = ("REC041",)
    guard = BatchFact.CONTROL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield keys in control batches that brokers give."""
        if not batch.batch.is_control:
            return
        for index, record in enumerate(batch.content):
            key = control_key(record.key)
            if key is None:
                seen = "null" if record.key is None else plural(len(record.key), "byte")
                yield batch.inside(f"records[{index}].key", "4 bytes or more", seen)
            elif key.version < 0:
                yield batch.inside(f"records[{index}].key", "a version from 0 on", key.version)


class MarkerWithoutProducer(RecordRule):
    """A batch that commits or aborts must be transactional and name the producer.

    Readers end the transaction of the producer id that the batch names.

    Example: a commit with producer id -1.

    What to do: copy producer id and epoch from the request of the coordinator.
    """

    code = "REC040"
    name = "marker-producer"
    who = Who.BROKER
    cites = (
        "KIP-98 Proposed Changes",
        "org.apache.kafka.common.record.internal.MemoryRecords#withEndTransactionMarker",
    )
    produced = False
    magics = (2,)
    guard = BatchFact.CONTROL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the transactional bit and producer id of markers."""
        found = batch.batch
        if _marker_of(batch) is None:
            return
        if not found.is_transactional:
            yield batch.violation("attributes", "transactional", f"{found.attributes & 0xFFFF:#06x}")
        elif found.producer_id == NO_PRODUCER_ID:
            yield batch.violation("producer_id", "a producer id", "-1")
