"""REC001: The length of a record batch must lead to its end."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class BadBatchLength(RecordFaultRule):
    """The length of a record batch must lead to its end.

    It counts what follows it: at least 49 bytes in a batch, 14 in a message of magic 0 and 22 of magic 1.
    Readers have nothing else to find the next batch by. That a length is too large shows where the next
    batch, known by its checksum, lies before its end.

    Example: batch length 20.

    What to do: count the bytes behind the length field.
    """

    code = "REC001"
    name = "batch-length"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.DefaultRecordBatch",
        "org.apache.kafka.common.record.internal.LegacyRecord",
    )
    kinds = frozenset({AnomalyKind.BAD_BATCH_LENGTH})
    expected = "a length that leads to the end of the batch"
