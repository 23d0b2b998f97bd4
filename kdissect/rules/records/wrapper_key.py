"""REC029: The key of a compressed message should be null."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch


class WrapperKey(BatchRule):
    """The key of a compressed message should be null.

    Its value holds the messages, which have keys of their own. Apache Kafka ignores it.

    Example: a gzip message with a key of 3 bytes.

    What to do: write key length -1.
    """

    code = "REC029"
    name = "wrapper-key"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    cites = ("spec/001 5.3.3 Old Message Format",)
    magics = (0, 1)
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """The length of the key of compressed messages of magic 0 and 1."""
        found = batch.batch
        if not found.codec:
            return
        length = int.from_bytes(found.data[found.records_start : found.records_start + 4], signed=True)
        if length != -1:
            yield batch.inside("key", "null", f"length {length}")
