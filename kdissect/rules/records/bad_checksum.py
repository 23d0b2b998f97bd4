"""REC004: The checksum of a record batch must be that of its bytes."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class BadChecksum(RecordFaultRule):
    """The checksum of a record batch must be that of its bytes.

    CRC-32C from the attributes to the end in magic 2, CRC-32 from the magic byte on in magic 0 and 1.
    Brokers answer CORRUPT_MESSAGE, consumers stop. Nothing else in such a batch is judged: any byte may be
    wrong.

    Bytes that a capture changed look the same; the checksum of TCP, where the network card did not compute
    it later, tells them apart.

    Example: a batch whose CRC says 0x12345678 where the bytes give 0x9abcdef0.

    What to do: compute it last, over the bytes as they are sent.
    """

    code = "REC004"
    name = "checksum"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.DefaultRecordBatch",
        "org.apache.kafka.common.record.internal.LegacyRecord",
    )
    kinds = frozenset({AnomalyKind.BAD_CRC})
    expected = "the checksum of the bytes"
