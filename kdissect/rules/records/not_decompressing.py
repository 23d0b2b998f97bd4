"""REC005: Compressed records must decompress with the codec that the attributes name."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import RecordFault
from kdissect.rules.kinds import RecordFaultRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class NotDecompressing(RecordFaultRule):
    """Compressed records must decompress with the codec that the attributes name.

    Brokers decompress what clients produce and answer CORRUPT_MESSAGE or UNKNOWN_SERVER_ERROR; consumers
    stop. Snappy may be raw or in the framing of xerial, lz4 and zstd are frames. Records that grow beyond
    what this program decompresses are not judged.

    Example: codec zstd, and bytes that are no zstd frame.

    What to do: set the codec that was used; finish the stream before its size is written.
    """

    code = "REC005"
    name = "decompress"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.CompressionType",
    )
    kinds = frozenset({AnomalyKind.CORRUPT_COMPRESSION, AnomalyKind.DECOMPRESSION_LIMIT})
    expected = "bytes of the codec"

    def check(self, fault: RecordFault, batch: Batch) -> Iterator[Fault]:
        """What the codec says."""
        if fault.kind is AnomalyKind.DECOMPRESSION_LIMIT:
            yield Fault(inconclusive="the records are larger than is decompressed")
        else:
            yield batch.misfit(fault, self.expected)
