"""REC014: Produce v0 and v1 should carry magic 0, v2 no more than magic 1."""

from collections.abc import Iterator

from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.batch import Batch
from kdissect.rules.kinds import BatchRule
from kdissect.rules.records.old_magic_produced import MAGIC_2_FROM
from kdissect.rules.rule import Fault, Once


class NewMagicProduced(BatchRule):
    """Produce v0 and v1 should carry magic 0, v2 no more than magic 1.

    Version 2 came with magic 1 and version 3 with magic 2, so that brokers know what clients can read.
    Apache Kafka takes and converts them; other and older brokers may not know the format.

    Example: a batch of magic 2 in Produce v2.

    What to do: use a version as new as the format.
    """

    code = "REC014"
    name = "produce-magic-too-new"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.requests.ProduceRequest", "spec/000 Produce API")
    produced = True
    once = Once.PARTY

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The magic of batches in versions before 3."""
        most = (0, 0, 1)[batch.version] if batch.version < MAGIC_2_FROM else CURRENT_MAGIC
        if batch.batch.magic > most:
            yield batch.fault("magic", f"{most} at most", batch.batch.magic)
