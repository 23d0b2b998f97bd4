"""REC008: A compressed message must hold messages."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class EmptyWrapper(RecordFaultRule):
    """A compressed message must hold messages.

    Its value is the compressed messages. Null, or none inside, is an error to brokers and consumers.

    Example: a gzip message whose value is null.

    What to do: send no message where there is nothing to send.
    """

    code = "REC008"
    name = "empty-wrapper"
    cites = (
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch",
        "spec/001 5.3.3 Old Message Format",
    )
    magics = (0, 1)
    kinds = frozenset({AnomalyKind.EMPTY_WRAPPER})
    expected = "one message or more inside"
