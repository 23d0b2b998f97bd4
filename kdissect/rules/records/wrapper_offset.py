"""REC035: The offset of a compressed message must be that of the last message inside."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class WrapperOffset(RecordRule):
    """The offset of a compressed message must be that of the last message inside.

    Magic 0 has absolute offsets inside; magic 1 has relative ones, which count back from it. What producers
    write there means nothing, so that only fetched messages are judged.

    Example: offset 10 around 20 messages.

    What to do: give the offset of the last message.
    """

    code = "REC035"
    name = "wrapper-offset"
    who = Who.BROKER
    cites = (
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch",
    )
    produced = False
    magics = (0, 1)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Fetched compressed messages of magic 0 and 1."""
        found = batch.batch
        if not found.codec:
            return
        last = max((inner.base_offset for inner in batch.inner()), default=found.base_offset)
        if found.base_offset < last or (found.magic == 0 and found.base_offset != last):
            seen = f"{found.base_offset}, the last inside is {last}"
            yield batch.fault("base_offset", "the offset of the last message inside", seen)
