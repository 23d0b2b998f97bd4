"""REC022: A produced batch should begin at offset 0."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.batch_view import Batch


class BaseOffset(BatchRule):
    """A produced batch should begin at offset 0.

    Brokers give the offsets and write over it. Mirroring tools send what they read elsewhere.

    Example: base offset 1000 in a Produce.

    What to do: nothing, unless the offset was meant to be kept: it is not.
    """

    code = "REC022"
    name = "produced-base-offset"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("org.apache.kafka.storage.internals.log.LogValidator", "spec/001 5.3.1 Record Batch")
    produced = True
    magics = (2,)
    once = Once.PARTY

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The base offset of produced batches of magic 2."""
        if batch.batch.base_offset:
            yield batch.fault("base_offset", 0, batch.batch.base_offset)
