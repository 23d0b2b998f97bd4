"""REC003: The magic of a record batch must be 0, 1 or 2."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.rules.kinds import RecordFaultRule


class UnknownMagic(RecordFaultRule):
    """The magic of a record batch must be 0, 1 or 2.

    It says which format the other bytes have; it stands at byte 16 in each of them.

    Example: magic 3.

    What to do: write magic 2.
    """

    code = "REC003"
    name = "magic"
    cites = ("spec/001 5.3 Message Format", "spec/001 5.3.1 Record Batch")
    kinds = frozenset({AnomalyKind.UNKNOWN_MAGIC})
    expected = "0, 1 or 2"
