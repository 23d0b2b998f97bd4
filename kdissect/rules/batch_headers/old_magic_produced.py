"""REC013: Produce v3 and later must carry magic 2 only."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch

MAGIC_2_FROM = 3  # version of Produce (org.apache.kafka.common.requests.ProduceRequest)


class OldMagicProduced(BatchRule):
    """Produce v3 and later must carry magic 2 only.

    Brokers answer INVALID_RECORD.

    Example: a message of magic 1 in Produce v7.

    What to do: write batches of magic 2, or use Produce v2 with old brokers.
    """

    code = "REC013"
    name = "produce-magic"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.requests.ProduceRequest", "KIP-98")
    produced = True

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The first batch of each partition."""
        if (
            batch.records.is_produce
            and batch.version >= MAGIC_2_FROM
            and batch.index == 0
            and not batch.is_current
        ):
            yield batch.fault("magic", 2, batch.batch.magic)
