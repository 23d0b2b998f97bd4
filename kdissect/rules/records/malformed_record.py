"""REC011: The length of a record must be that of its fields, and its fields must fit."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class MalformedRecord(RecordFaultRule):
    """The length of a record must be that of its fields, and its fields must fit.

    Brokers answer INVALID_RECORD or CORRUPT_MESSAGE, consumers stop.

    Example: length 20, and fields that take 18 bytes.

    What to do: write the length of the bytes that follow it.
    """

    code = "REC011"
    name = "record-length"
    cites = (
        "spec/001 5.3.2 Record",
        "org.apache.kafka.common.record.internal.DefaultRecord",
        "org.apache.kafka.common.record.internal.LegacyRecord",
    )
    kinds = frozenset({AnomalyKind.MALFORMED_RECORD})
    expected = "fields that fill the record"
