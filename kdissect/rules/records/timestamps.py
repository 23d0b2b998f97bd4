"""Rules: timestamps of records."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.batch_view import Batch


class OtherMaxTimestamp(RecordRule):
    """The maximum timestamp of a batch must be that of its latest record.

    Brokers find offsets by time and delete old segments by it. Apache Kafka computes it again when it
    appends. With log append time it stands for all records.

    Example: maximum 1000, and a record of 2000.

    What to do: keep the largest timestamp while writing.
    """

    code = "REC033"
    name = "max-timestamp"
    severity = Severity.WARNING
    cites = (
        "org.apache.kafka.common.record.internal.DefaultRecordBatch#maxTimestamp",
        "spec/001 5.3.1 Record Batch",
    )
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield timestamps of magic 2 records."""
        found = batch.batch
        if found.is_log_append_time or not batch.is_whole:
            return
        latest = max(record.timestamp for record in batch.content)
        if latest != found.max_timestamp:
            seen = f"{found.max_timestamp}, the latest is {latest}"
            yield batch.violation("max_timestamp", "the latest timestamp of the records", seen)


class OtherBaseTimestamp(RecordRule):
    """The base timestamp of a produced batch should be that of its first record.

    Any other is legal: records have their distance from it. Compaction changes it in the log, so that only
    producers are judged.

    Example: base timestamp 1000, and a first delta of 5.

    What to do: nothing. Smaller deltas take fewer bytes.
    """

    code = "REC034"
    name = "base-timestamp"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.common.record.internal.DefaultRecordBatch#baseTimestamp",
        "spec/001 5.3.1 Record Batch",
    )
    produced = True
    magics = (2,)
    once = Once.PARTY
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the first record of produced magic 2 batches."""
        found = batch.batch
        if found.is_log_append_time:
            return
        first = batch.content[0].timestamp
        if first != found.base_timestamp:
            seen = f"{found.base_timestamp}, the first is {first}"
            yield batch.violation("base_timestamp", "the timestamp of the first record", seen)
