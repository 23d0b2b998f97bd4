"""REC018: Fetch before v10 should not be answered with zstd."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.record_batch import Codec
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.batch_view import Batch

ZSTD_FROM = 10  # version of Fetch (KIP-110)


class ZstdFetchedTooEarly(BatchRule):
    """Fetch before v10 should not be answered with zstd.

    Clients of these versions may not know it. Brokers from 2.1 to 3.9 answer UNSUPPORTED_COMPRESSION_TYPE
    instead; those since 4.0 give it from v4 on, as all their clients know it.

    Example: codec 4 in Fetch v9.

    What to do: use Fetch v10.
    """

    code = "REC018"
    name = "fetch-zstd"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-110", "kafka.server.KafkaApis")
    produced = False
    once = Once.PARTY

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The codec of batches in versions before 10."""
        if batch.body.api.name == "Fetch" and batch.version < ZSTD_FROM and batch.batch.codec == Codec.ZSTD:
            yield batch.fault("attributes", f"zstd from Fetch v{ZSTD_FROM} on", f"v{batch.version}")
