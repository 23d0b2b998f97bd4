"""Rules: offsets of batches."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.batch_view import Batch


class OtherLastOffset(BatchRule):
    """The last offset delta of a batch must agree with its count of records.

    In a Produce it is the count less one, and there is a record. Brokers answer INVALID_RECORD. In the log
    compaction takes records away: then it is that or more, and the count may be 0.

    Example: count 3 with last offset delta 5 in a Produce.

    What to do: number the records from 0.
    """

    code = "REC021"
    name = "batch-offsets"
    cites = (
        "org.apache.kafka.storage.internals.log.LogValidator#validateBatch",
        "spec/001 5.3.1 Record Batch",
    )
    magics = (2,)
    overrides = ("REC012", "REC031")
    guard = BatchFact.OTHER_COUNT

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Count and last offset delta of magic 2."""
        found = batch.batch
        if found.count is None:
            return
        delta = found.last_offset_delta
        if batch.records.is_produce:
            if found.count < 1:
                yield batch.violation("count", "1 or more", found.count)
            elif delta != found.count - 1:
                seen = f"{delta}, count {found.count}"
                yield batch.violation("last_offset_delta", "the count less one", seen)
        elif found.count < 0 or delta < max(found.count - 1, 0):
            seen = f"{delta}, count {found.count}"
            yield batch.violation("last_offset_delta", "the count less one, or more", seen)


class BaseOffset(BatchRule):
    """A produced batch should begin at offset 0.

    Brokers give the offsets and write over it. Mirroring tools send what they read elsewhere.

    Example: base offset 1000 in a Produce.

    What to do: nothing, unless you meant brokers to keep the offset: they do not.
    """

    code = "REC022"
    name = "produced-base-offset"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.storage.internals.log.LogValidator#validateMessagesAndAssignOffsetsCompressed",
        "spec/001 5.3.1 Record Batch",
    )
    produced = True
    magics = (2,)
    once = Once.PARTY
    guard = BatchFact.BASE_OFFSET

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the base offset of produced magic 2 batches."""
        if batch.batch.base_offset:
            yield batch.violation("base_offset", 0, batch.batch.base_offset)
