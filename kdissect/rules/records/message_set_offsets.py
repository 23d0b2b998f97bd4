"""Rules: offsets in and around compressed messages."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.batch_view import Batch


class WrapperOffset(RecordRule):
    """The offset of a compressed message must be that of the last message inside.

    Magic 0 has absolute offsets inside. Magic 1 has relative offsets, which count back from it. What
    producers write there means nothing, so that only fetched messages are judged.

    Example: offset 10 around 20 messages.

    What to do: give the offset of the last message.
    """

    code = "REC035"
    name = "wrapper-offset"
    who = Who.BROKER
    cites = (
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch#iterator",
    )
    produced = False
    magics = (0, 1)
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the fetched compressed messages of magic 0 and 1."""
        found = batch.batch
        if not found.codec:
            return
        last = max((inner.base_offset for inner in batch.inner()), default=found.base_offset)
        if found.base_offset < last or (found.magic == 0 and found.base_offset != last):
            seen = f"{found.base_offset}, the last inside is {last}"
            yield batch.violation("base_offset", "the offset of the last message inside", seen)


class InnerOffsets(RecordRule):
    """Messages of magic 1 inside a produced message should have the offsets 0, 1, 2 and so on.

    Brokers put others right, and have to compress all messages again for it. Older clients write 0
    throughout.

    Example: offsets 0, 0, 0.

    What to do: count them up.
    """

    code = "REC036"
    name = "inner-offsets"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = (
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.storage.internals.log.LogValidator#validateMessagesAndAssignOffsetsCompressed",
    )
    produced = True
    magics = (1,)
    once = Once.PARTY
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the produced compressed messages of magic 1."""
        found = batch.batch
        if not found.codec:
            return
        for index, inner in enumerate(batch.inner()):
            if inner.base_offset != index:
                seen = f"{inner.base_offset} in message {index}"
                yield batch.inside(f"records[{index}].offset", "0, 1, 2 and so on", seen)
