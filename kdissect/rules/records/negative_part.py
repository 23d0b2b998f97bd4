"""REC010: Lengths in records must not be below -1."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class NegativePart(RecordFaultRule):
    """Lengths in records must not be below -1.

    -1 stands for null. Java takes any negative length of a key or value for null; others fail.

    Example: a value of length -5.

    What to do: write -1 for null.
    """

    code = "REC010"
    name = "record-negative-length"
    cites = ("spec/001 5.3.2 Record", "org.apache.kafka.common.record.internal.DefaultRecord")
    kinds = frozenset({AnomalyKind.NEGATIVE_LENGTH})
    expected = "-1 or more"
