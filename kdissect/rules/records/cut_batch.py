"""REC002: Records to be stored must end with a whole batch."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Claim
from kdissect.rules.kinds import RecordFaultRule


class CutBatch(RecordFaultRule):
    """Records to be stored must end with a whole batch.

    In a Fetch response the last batch may be cut, and readers ask for it again; in a Produce request
    nothing would bring the rest. Brokers refuse it.

    Example: a batch of 300 bytes, of which 200 are there.

    What to do: write the whole batch, and its size in the length of the records.
    """

    code = "REC002"
    name = "whole-batches"
    claim = Claim.REFUSED
    cites = (
        "spec/001 Reads",
        "org.apache.kafka.common.record.internal.DefaultRecordBatch",
        "org.apache.kafka.storage.internals.log.LogValidator",
    )
    produced = True
    kinds = frozenset({AnomalyKind.CUT_BATCH})
    expected = "a whole batch"
