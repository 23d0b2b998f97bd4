"""REC031: Offset deltas of records must rise from 0 to the last offset delta."""

from collections.abc import Iterator

from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch


class OffsetDeltas(RecordRule):
    """Offset deltas of records must rise from 0 to the last offset delta.

    In a Produce they count up by one. In the log compaction leaves gaps. Brokers rewrite what they can,
    consumers skip and repeat by them.

    Example: deltas 0, 1, 1.

    What to do: number the records of a batch from 0.
    """

    code = "REC031"
    name = "offset-deltas"
    cites = (
        "spec/001 5.3.2 Record",
        "org.apache.kafka.storage.internals.log.LogValidator#validateMessagesAndAssignOffsetsCompressed",
    )
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Offsets of the records of magic 2."""
        found, last = batch.batch, -1
        for index, record in enumerate(batch.content):
            delta = record.offset - found.base_offset
            if batch.records.is_produce and delta != index:
                seen = f"{delta} in record {index}"
                yield batch.inside(f"records[{index}].offset_delta", "0, 1, 2 and so on", seen)
            elif delta <= last or delta > found.last_offset_delta:
                expected = "more than the one before, at most the last offset delta"
                seen = f"{delta} behind {last}, the last is {found.last_offset_delta}"
                yield batch.inside(f"records[{index}].offset_delta", expected, seen)
            last = delta
