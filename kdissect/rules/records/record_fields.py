"""Rules: attributes, offsets and header keys of records."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule, RecordRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch

_SHOWN = 32  # bytes of a key: enough to recognise it


class WrapperKey(BatchRule):
    """The key of a compressed message should be null.

    Its value holds the messages, which have keys of their own. Apache Kafka ignores it.

    Example: a gzip message with a key of 3 bytes.

    What to do: write key length -1.
    """

    code = "REC029"
    name = "wrapper-key"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    cites = ("spec/001 5.3.3 Old Message Format",)
    magics = (0, 1)
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the key length of compressed messages in magic 0 and 1."""
        found = batch.batch
        if not found.codec:
            return
        length = int.from_bytes(found.data[found.records_start : found.records_start + 4], signed=True)
        if length != -1:
            yield batch.inside("key", "null", f"length {length}")


class RecordAttributes(RecordRule):
    """The attributes of a record must be 0.

    Their bits have no meaning. A later format may give them a meaning. Apache Kafka ignores them.

    Example: attributes 1 in a record.

    What to do: write 0.
    """

    code = "REC030"
    name = "record-attributes"
    severity = Severity.WARNING
    cites = ("spec/001 5.3.2 Record",)
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield attributes of magic 2 records."""
        for index, found in enumerate(batch.content):
            if found.attributes:
                yield batch.inside(f"records[{index}].attributes", 0, found.attributes)


class OffsetDeltas(RecordRule):
    """Offset deltas of records must rise from 0 to the last offset delta.

    In a Produce they count up by one. In the log compaction leaves gaps. Brokers rewrite what they can,
    consumers skip and repeat by them.

    Example: deltas 0, 1, 1.

    What to do: number the records of a batch from 0.
    """

    code = "REC031"
    name = "offset-deltas"
    cites = (
        "spec/001 5.3.2 Record",
        "org.apache.kafka.storage.internals.log.LogValidator#validateMessagesAndAssignOffsetsCompressed",
    )
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield offsets of magic 2 records."""
        found, last = batch.batch, -1
        for index, record in enumerate(batch.content):
            delta = record.offset - found.base_offset
            if batch.records.is_produce and delta != index:
                seen = f"{delta} in record {index}"
                yield batch.inside(f"records[{index}].offset_delta", "0, 1, 2 and so on", seen)
            elif delta <= last or delta > found.last_offset_delta:
                expected = "more than the one before, at most the last offset delta"
                seen = f"{delta} behind {last}, the last is {found.last_offset_delta}"
                yield batch.inside(f"records[{index}].offset_delta", expected, seen)
            last = delta


class HeaderKeyNotUtf8(RecordRule):
    """The key of a record header must be valid UTF-8.

    Java puts replacement characters, so that the key is different afterwards. Other readers refuse.
    Brokers do not look, and pass on what producers wrote.

    Example: a key with the byte `ff`.

    What to do: encode keys as UTF-8.
    """

    code = "REC032"
    name = "header-key-utf8"
    cites = (
        "spec/001 5.3.2.1 Record Header",
        "org.apache.kafka.common.record.internal.DefaultRecord#readHeaders",
    )
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield keys that decoded to bytes."""
        for index, record in enumerate(batch.content):
            for number, (key, _) in enumerate(record.headers):
                if isinstance(key, bytes):
                    yield batch.inside(
                        f"records[{index}].headers[{number}].key", "UTF-8", key[:_SHOWN].hex(" ")
                    )
