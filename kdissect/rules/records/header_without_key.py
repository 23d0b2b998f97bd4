"""REC009: The key of a record header must not be null."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class HeaderWithoutKey(RecordFaultRule):
    """The key of a record header must not be null.

    Only its value may be. Brokers and consumers fail to read such a batch.

    Example: a header with key length -1.

    What to do: give every header a key; an empty one is legal.
    """

    code = "REC009"
    name = "header-key"
    cites = ("spec/001 5.3.2.1 Record Header", "org.apache.kafka.common.record.internal.DefaultRecord")
    magics = (2,)
    kinds = frozenset({AnomalyKind.NULL_HEADER_KEY})
    expected = "a key"
