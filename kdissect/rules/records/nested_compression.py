"""REC006: A message inside a compressed message must not be compressed."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class NestedCompression(RecordFaultRule):
    """A message inside a compressed message must not be compressed.

    Kafka 0.7 nested them; brokers and consumers since then refuse it.

    Example: a gzip message inside a gzip message.

    What to do: compress once, all messages together.
    """

    code = "REC006"
    name = "nested-compression"
    cites = (
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch",
        "org.apache.kafka.storage.internals.log.LogValidator",
    )
    magics = (0, 1)
    kinds = frozenset({AnomalyKind.NESTED_COMPRESSION})
    expected = "a message without compression"
