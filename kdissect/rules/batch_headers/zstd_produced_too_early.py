"""REC017: Produce before v7 must not carry zstd."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.model.record_batch import Codec
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch

ZSTD_FROM = 7  # version of Produce (KIP-110)


class ZstdProducedTooEarly(BatchRule):
    """Produce before v7 must not carry zstd.

    Brokers answer UNSUPPORTED_COMPRESSION_TYPE.

    Example: codec 4 in Produce v6.

    What to do: use Produce v7, or another codec with brokers before 2.1.
    """

    code = "REC017"
    name = "produce-zstd"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-110", "org.apache.kafka.common.requests.ProduceRequest")
    produced = True

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The codec of batches in versions before 7."""
        if batch.version < ZSTD_FROM and batch.batch.codec == Codec.ZSTD:
            yield batch.fault("attributes", f"zstd from Produce v{ZSTD_FROM} on", f"v{batch.version}")
