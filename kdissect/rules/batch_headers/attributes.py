"""Rules: codec and bits of the attributes."""

from collections.abc import Iterator

from kdissect.model.finding import Severity
from kdissect.model.record_batch import Codec
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch

# By magic: spec/001 "5.3.3 Old Message Format", "5.3.1 Record Batch"; bit 6 is KIP-534's.
_RESERVED = (0xF8, 0xF0, 0xFF80)


class UnknownCodec(BatchRule):
    """The codec of a batch must be one that its magic has.

    0 none, 1 gzip, 2 snappy, 3 lz4, and from magic 2 on 4 zstd. Brokers and consumers cannot read other
    values.

    Example: codec 6.

    What to do: use one of them.
    """

    code = "REC019"
    name = "codec"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.CompressionType#forId",
    )
    guard = BatchFact.UNKNOWN_CODEC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the codec, against the codecs of the magic."""
        most = Codec.ZSTD if batch.is_current else Codec.LZ4
        if batch.batch.codec > most:
            yield batch.violation(
                "attributes", f"a codec from 0 to {int(most)}", f"codec {batch.batch.codec}"
            )


class ReservedBits(BatchRule):
    """Bits of the attributes that mean nothing must be 0.

    Bits 7 to 15 in magic 2, 4 to 7 in magic 1, 3 to 7 in magic 0. A later format may give them a meaning.
    Apache Kafka ignores them.

    Example: attributes 0x0100.

    What to do: set only the bits that are defined.
    """

    code = "REC020"
    name = "reserved-bits"
    severity = Severity.WARNING
    cites = ("spec/001 5.3.1 Record Batch", "spec/001 5.3.3 Old Message Format")
    guard = BatchFact.RESERVED_BITS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield bits without a meaning."""
        reserved = _RESERVED[batch.batch.magic]
        if batch.batch.attributes & reserved:
            yield batch.violation(
                "attributes", f"0 in {reserved:#06x}", f"{batch.batch.attributes & 0xFFFF:#06x}"
            )
