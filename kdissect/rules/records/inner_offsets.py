"""REC036: Messages of magic 1 inside a produced message should have the offsets 0, 1, 2 and so on."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.batch_view import Batch


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
    cites = ("spec/001 5.3.3 Old Message Format", "org.apache.kafka.storage.internals.log.LogValidator")
    produced = True
    magics = (1,)
    once = Once.PARTY

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Produced compressed messages of magic 1."""
        found = batch.batch
        if not found.codec:
            return
        for index, inner in enumerate(batch.inner()):
            if inner.base_offset != index:
                seen = f"{inner.base_offset} in message {index}"
                yield batch.inside(f"records[{index}].offset", "0, 1, 2 and so on", seen)
