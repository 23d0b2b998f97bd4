"""REC007: Messages inside a compressed message must have its magic."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class InnerMagic(RecordFaultRule):
    """Messages inside a compressed message must have its magic.

    Offsets and timestamps inside mean something else in each magic. Brokers answer INVALID_RECORD,
    consumers stop.

    Example: messages of magic 0 inside a message of magic 1.

    What to do: write one magic throughout.
    """

    code = "REC007"
    name = "inner-magic"
    cites = (
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch",
        "org.apache.kafka.storage.internals.log.LogValidator",
    )
    magics = (0, 1)
    kinds = frozenset({AnomalyKind.INNER_MAGIC})
    expected = "the magic of the message around it"
