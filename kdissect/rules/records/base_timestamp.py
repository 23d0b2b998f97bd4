"""REC034: The base timestamp of a produced batch should be that of its first record."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Fault, Once
from kdissect.rules.views.batch_view import Batch


class OtherBaseTimestamp(RecordRule):
    """The base timestamp of a produced batch should be that of its first record.

    Any other is legal: records have their distance from it. Compaction changes it in the log, so that only
    producers are judged.

    Example: base timestamp 1000, and a first delta of 5.

    What to do: nothing; smaller deltas take fewer bytes.
    """

    code = "REC034"
    name = "base-timestamp"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.record.internal.DefaultRecordBatch", "spec/001 5.3.1 Record Batch")
    produced = True
    magics = (2,)
    once = Once.PARTY

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The first record of produced batches of magic 2."""
        found = batch.batch
        if found.is_log_append_time:
            return
        first = batch.content[0].timestamp
        if first != found.base_timestamp:
            seen = f"{found.base_timestamp}, the first is {first}"
            yield batch.fault("base_timestamp", "the timestamp of the first record", seen)
