"""Rules: bytes that are no record batch, no message or no record."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Claim
from kdissect.model.record_batch import RecordFault
from kdissect.rules.kinds import RecordFaultRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch


class BadBatchLength(RecordFaultRule):
    """The length of a record batch must lead to its end.

    It counts what follows it: at least 49 bytes in a batch, 14 in a message of magic 0 and 22 of magic 1.
    Readers cannot find the next batch without it. That a length is too large shows where the next
    batch, known by its checksum, lies before its end.

    Example: batch length 20.

    What to do: count the bytes behind the length field.
    """

    code = "REC001"
    name = "batch-length"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.DefaultRecordBatch#ensureValid",
        "org.apache.kafka.common.record.internal.LegacyRecord#ensureValid",
    )
    kinds = frozenset({AnomalyKind.BAD_BATCH_LENGTH})
    expected = "a length that leads to the end of the batch"


class CutBatch(RecordFaultRule):
    """Records to be stored must end with a whole batch.

    In a Fetch response the last batch may be cut, and readers ask for it again. In a Produce request
    no later request brings the remaining bytes. Brokers refuse it.

    Example: a batch of 300 bytes, of which 200 are there.

    What to do: write the whole batch, and its size in the length of the records.
    """

    code = "REC002"
    name = "whole-batches"
    claim = Claim.REFUSED
    cites = (
        "spec/001 Reads",
        "org.apache.kafka.storage.internals.log.UnifiedLog#trimInvalidBytes",
        "org.apache.kafka.common.requests.ProduceRequest#validateRecords",
    )
    produced = True
    kinds = frozenset({AnomalyKind.CUT_BATCH})
    expected = "a whole batch"


class UnknownMagic(RecordFaultRule):
    """The magic of a record batch must be 0, 1 or 2.

    It says which format the other bytes have. It is at byte 16 in each format.

    Example: magic 3.

    What to do: write magic 2.
    """

    code = "REC003"
    name = "magic"
    cites = ("spec/001 5.3 Message Format", "spec/001 5.3.1 Record Batch")
    kinds = frozenset({AnomalyKind.UNKNOWN_MAGIC})
    expected = "0, 1 or 2"


class BadChecksum(RecordFaultRule):
    """The checksum of a record batch must be that of its bytes.

    CRC-32C from the attributes to the end in magic 2, CRC-32 from the magic byte on in magic 0 and 1.
    Brokers answer CORRUPT_MESSAGE, consumers stop. The rules skip such a batch: any byte may be
    wrong.

    Bytes that a capture changed look similar. The checksum of TCP, where the network card did not compute
    it later, distinguishes them.

    Example: a batch whose CRC says 0x12345678 where the bytes give 0x9abcdef0.

    What to do: compute it last, over the bytes as they are sent.
    """

    code = "REC004"
    name = "checksum"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.DefaultRecordBatch#ensureValid",
        "org.apache.kafka.common.record.internal.LegacyRecord#ensureValid",
    )
    kinds = frozenset({AnomalyKind.BAD_CRC})
    expected = "the checksum of the bytes"


class NotDecompressing(RecordFaultRule):
    """Compressed records must decompress with the codec that the attributes name.

    Brokers decompress what clients produce and answer CORRUPT_MESSAGE or UNKNOWN_SERVER_ERROR; consumers
    stop. Snappy may be raw or in the framing of xerial, lz4 and zstd are frames. A frame that some readers
    refuse and others read is reported with the part that they refuse: a wrong checksum of lz4, the numbers
    of a xerial header in little-endian order. Records that grow beyond what this program decompresses are
    not judged.

    Example: codec zstd, and bytes that are no zstd frame.

    What to do: set the codec that was used. Finish the stream before its size is written.
    """

    code = "REC005"
    name = "decompress"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.CompressionType#forId",
    )
    kinds = frozenset({AnomalyKind.CORRUPT_COMPRESSION, AnomalyKind.DECOMPRESSION_LIMIT})
    expected = "bytes of the codec"

    def check(self, fault: RecordFault, batch: Batch) -> Iterator[Violation]:
        """Yield the error of the codec."""
        if fault.kind is AnomalyKind.DECOMPRESSION_LIMIT:
            yield Violation(inconclusive="the records are larger than is decompressed")
        else:
            yield batch.malformed(fault, self.expected)


class NestedCompression(RecordFaultRule):
    """A message inside a compressed message must not be compressed.

    Kafka 0.7 nested them. Brokers and consumers since then refuse it.

    Example: a gzip message inside a gzip message.

    What to do: compress once, all messages together.
    """

    code = "REC006"
    name = "nested-compression"
    cites = (
        "spec/001 5.3.3 Old Message Format",
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch#iterator",
        "org.apache.kafka.storage.internals.log.LogValidator#validateRecordCompression",
    )
    magics = (0, 1)
    kinds = frozenset({AnomalyKind.NESTED_COMPRESSION})
    expected = "a message without compression"


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
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch#iterator",
        "org.apache.kafka.storage.internals.log.LogValidator#validateMessagesAndAssignOffsetsCompressed",
    )
    magics = (0, 1)
    kinds = frozenset({AnomalyKind.INNER_MAGIC})
    expected = "the magic of the message around it"


class EmptyWrapper(RecordFaultRule):
    """A compressed message must hold messages.

    Its value is the compressed messages. Null, or none inside, is an error to brokers and consumers.

    Example: a gzip message whose value is null.

    What to do: send no message if there is no record to send.
    """

    code = "REC008"
    name = "empty-wrapper"
    cites = (
        "org.apache.kafka.common.record.internal.AbstractLegacyRecordBatch#iterator",
        "spec/001 5.3.3 Old Message Format",
    )
    magics = (0, 1)
    kinds = frozenset({AnomalyKind.EMPTY_WRAPPER})
    expected = "one message or more inside"


class HeaderWithoutKey(RecordFaultRule):
    """The key of a record header must not be null.

    Only its value may be. Brokers and consumers fail to read such a batch.

    Example: a header with key length -1.

    What to do: give every header a key. An empty one is legal.
    """

    code = "REC009"
    name = "header-key"
    cites = ("org.apache.kafka.common.record.internal.DefaultRecord#readHeaders",)
    magics = (2,)
    kinds = frozenset({AnomalyKind.NULL_HEADER_KEY})
    expected = "a key"


class NegativePart(RecordFaultRule):
    """Lengths in records must not be below -1.

    -1 means null. Java takes any negative length of a key or value for null. Other clients fail.

    Example: a value of length -5.

    What to do: write -1 for null.
    """

    code = "REC010"
    name = "record-negative-length"
    cites = ("spec/001 5.3.2 Record", "org.apache.kafka.common.record.internal.DefaultRecord#readFrom")
    kinds = frozenset({AnomalyKind.NEGATIVE_LENGTH})
    expected = "-1 or more"


class MalformedRecord(RecordFaultRule):
    """The length of a record must be that of its fields, and its fields must fit.

    Brokers answer INVALID_RECORD or CORRUPT_MESSAGE, consumers stop.

    Example: length 20, and fields that take 18 bytes.

    What to do: write the length of the bytes that follow it.
    """

    code = "REC011"
    name = "record-length"
    cites = (
        "spec/001 5.3.2 Record",
        "org.apache.kafka.common.record.internal.DefaultRecord#readFrom",
        "org.apache.kafka.common.record.internal.LegacyRecord#ensureValid",
    )
    kinds = frozenset({AnomalyKind.MALFORMED_RECORD})
    expected = "fields that fill the record"


class OtherRecordCount(RecordFaultRule):
    """The number of records that a batch declares must fill it to its last byte.

    Readers count them and look for bytes left over: brokers answer INVALID_RECORD or CORRUPT_MESSAGE,
    consumers stop.

    Example: count 3, and 2 records.

    What to do: count the records that were written.
    """

    code = "REC012"
    name = "record-count"
    cites = (
        "spec/001 5.3.1 Record Batch",
        "org.apache.kafka.common.record.internal.DefaultRecordBatch#uncompressedIterator",
    )
    magics = (2,)
    kinds = frozenset({AnomalyKind.BAD_RECORD_COUNT})
    expected = "that many records"
