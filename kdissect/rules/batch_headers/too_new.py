"""Rules: formats and codecs that a version of Produce or Fetch does not have."""

from collections.abc import Iterator

from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.model.finding import Claim, Level, Who
from kdissect.model.record_batch import Codec
from kdissect.model.wording import plural
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import BOTH_FRAMES, Once, Violation
from kdissect.rules.views.batch_view import Batch

_MAGIC_2_FROM = 3  # version of Produce (org.apache.kafka.common.requests.ProduceRequest)
# Versions of Fetch (kafka.server.KafkaApis before 4.0, KIP-724).
_MAGIC_0_UNTIL, _MAGIC_1_UNTIL = 1, 3
_PRODUCE_ZSTD = 7  # version of Produce (KIP-110)
_FETCH_ZSTD = 10  # version of Fetch (KIP-110)


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
    cites = ("org.apache.kafka.common.requests.ProduceRequest#validateRecords", "KIP-98 Proposed Changes")
    produced = True
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the first batch of each partition."""
        if (
            batch.records.is_produce
            and batch.version >= _MAGIC_2_FROM
            and batch.index == 0
            and not batch.is_current
        ):
            yield batch.violation("magic", 2, batch.batch.magic)


class NewMagicProduced(BatchRule):
    """Produce v0 and v1 should carry magic 0, v2 no more than magic 1.

    Version 2 came with magic 1 and version 3 with magic 2, so that brokers know what clients can read.
    Apache Kafka takes and converts them. Other and older brokers may not know the format.

    Example: a batch of magic 2 in Produce v2.

    What to do: use a version as new as the format.
    """

    code = "REC014"
    name = "produce-magic-too-new"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("KIP-32 Proposed Changes",)
    produced = True
    once = Once.PARTY
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the magic of batches in versions before 3."""
        most = (0, 0, 1)[batch.version] if batch.version < _MAGIC_2_FROM else CURRENT_MAGIC
        if batch.batch.magic > most:
            yield batch.violation("magic", f"{most} at most", batch.batch.magic)


class NewMagicFetched(BatchRule):
    """Fetch v0 and v1 must be answered with magic 0, v2 and v3 with magic 1 at most.

    Clients of these versions cannot read more. Brokers convert down, or answer UNSUPPORTED_VERSION.
    Replicas fetch what is stored, whatever the version.

    Example: a batch of magic 2 in Fetch v3.

    What to do: convert down, or refuse the version.
    """

    code = "REC015"
    name = "fetch-magic"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-32 Proposed Changes", "KIP-98 Proposed Changes", "KIP-724 Proposed Changes")
    produced = False
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the magic of what clients fetched."""
        if batch.body.api.name != "Fetch" or batch.version > _MAGIC_1_UNTIL:
            return
        most = 0 if batch.version <= _MAGIC_0_UNTIL else 1
        asked = batch.body.other()
        if batch.batch.magic > most and asked is not None and asked.replica_id < 0:
            yield batch.violation("magic", f"{most} at most", batch.batch.magic)


class SeveralBatches(BatchRule):
    """A partition in Produce v3 and later must hold one record batch only.

    Brokers answer INVALID_RECORD. Sequence numbers and offsets apply to one batch.

    Example: two batches, one behind the other.

    What to do: send the second batch in a request of its own.
    """

    code = "REC016"
    name = "one-batch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.common.requests.ProduceRequest#validateRecords",
        "org.apache.kafka.storage.internals.log.LogValidator#getFirstBatchAndMaybeValidateNoMoreBatches",
    )
    produced = True
    guard = BatchFact.BEHIND_ANOTHER

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the second batch of a partition."""
        if batch.version >= _MAGIC_2_FROM and batch.index == 1:
            yield batch.violation(
                "base_offset", "one batch", plural(len(batch.records.found.found.batches), "batch", "batches")
            )


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
    cites = ("KIP-110 Proposed Changes", "org.apache.kafka.common.requests.ProduceRequest#validateRecords")
    produced = True
    guard = BatchFact.EARLY_ZSTD

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the codec of batches in versions before 7."""
        if batch.version < _PRODUCE_ZSTD and batch.batch.codec == Codec.ZSTD:
            yield batch.violation("attributes", f"zstd from Produce v{_PRODUCE_ZSTD} on", f"v{batch.version}")


class ZstdFetchedTooEarly(BatchRule):
    """Fetch before v10 should not be answered with zstd.

    Clients of these versions may not know it. Brokers from 2.1 to 3.9 answer UNSUPPORTED_COMPRESSION_TYPE
    instead. Brokers since 4.0 give it from v4 on, as all their clients know it.

    Example: codec 4 in Fetch v9.

    What to do: use Fetch v10.
    """

    code = "REC018"
    name = "fetch-zstd"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-110 Proposed Changes", "KIP-896 Proposed Changes")
    produced = False
    once = Once.PARTY
    guard = BatchFact.EARLY_ZSTD

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the codec of batches in versions before 10."""
        if batch.body.api.name == "Fetch" and batch.version < _FETCH_ZSTD and batch.batch.codec == Codec.ZSTD:
            yield batch.violation("attributes", f"zstd from Fetch v{_FETCH_ZSTD} on", f"v{batch.version}")
