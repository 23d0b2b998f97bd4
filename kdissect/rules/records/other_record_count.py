"""REC012: As many records as a batch says must fill it to its last byte."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class OtherRecordCount(RecordFaultRule):
    """As many records as a batch says must fill it to its last byte.

    Readers count them and look for bytes left over: brokers answer INVALID_RECORD or CORRUPT_MESSAGE,
    consumers stop.

    Example: count 3, and 2 records.

    What to do: count the records that were written.
    """

    code = "REC012"
    name = "record-count"
    cites = ("spec/001 5.3.1 Record Batch", "org.apache.kafka.common.record.internal.DefaultRecordBatch")
    magics = (2,)
    kinds = frozenset({AnomalyKind.BAD_RECORD_COUNT})
    expected = "that many records"
