"""A batch of records as in a request, a response or a log segment."""

from enum import IntEnum
from typing import NamedTuple

from kdissect.model.anomaly import AnomalyKind

MAX_SEQUENCE = 0x7FFFFFFF  # sequences wrap to 0 after it (DefaultRecordBatch#incrementSequence)
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1

# Bits of `attributes` (spec/001 "5.3.1 Record Batch"; magic 0 and 1: "5.3.3 Old Message Format").
CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40
# A batch of 128 MiB could have 18 million records that do not fit. People look at the first few.
MAX_FAULTS = 100


class Codec(IntEnum):
    """Compression of a batch (spec/001 "5.3.1 Record Batch"); 5 to 7 do not exist."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_NAMES = tuple(codec.name.lower() for codec in Codec)


class RecordFault(NamedTuple):
    """Something in a batch that does not fit.

    `path` names the part below the batch (`crc`, `records[7].value`), `offset` is its first byte: in the
    batch's buffer, or in the decompressed records if `inside` is set.
    """

    kind: AnomalyKind
    path: str
    offset: int
    why: str
    inside: bool = False

    def __str__(self) -> str:
        where = f"byte {self.offset} of the decompressed records" if self.inside else f"byte {self.offset}"
        return f"{self.path}: {self.why} at {where}" if self.path else f"{self.why} at {where}"


class RecordBatch:
    """A batch of magic 2, or one outer message in a message set of magic 0 or 1.

    `data[start:end]` are its bytes; `records_start` is where the records begin, compressed or not (magic 0
    and 1: where the message's key begins). For magic 0 and 1, `base_offset` is the offset on the wire, which
    for a compressed message is its last inner message's. `count` is 1, or None for a compressed message,
    which does not say. Both timestamps are the message's (-1 for magic 0). The fields of producers and
    `leader_epoch` are -1. `computed_crc` is the checksum of the bytes, by CRC-32C (magic 2) or CRC-32.
    """

    __slots__ = (
        "attributes", "base_offset", "base_sequence", "base_timestamp", "computed_crc", "count", "crc",
        "data", "end", "faults", "last_offset_delta", "leader_epoch", "magic", "max_timestamp",
        "producer_epoch", "producer_id", "records_start", "start",
    )  # fmt: skip

    def __init__(self, data: bytes, start: int, end: int, magic: int) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.magic = magic
        self.records_start = end
        self.base_offset = 0
        self.leader_epoch = -1
        self.crc = 0
        self.computed_crc = 0
        self.attributes = 0
        self.last_offset_delta = 0
        self.base_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = -1
        self.base_sequence = NO_SEQUENCE
        self.count: int | None = None
        self.faults: list[RecordFault] = []

    def __repr__(self) -> str:
        return f"RecordBatch(magic {self.magic}, offset {self.base_offset}, bytes {self.start}..{self.end})"

    @property
    def size(self) -> int:
        """Bytes with the 12 of offset and length."""
        return self.end - self.start

    @property
    def crc_is_right(self) -> bool:
        """Whether the checksum is that of the bytes."""
        return self.crc == self.computed_crc

    @property
    def codec(self) -> int:
        """A `Codec`, or 5 to 7, which do not exist."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker's time replaces every record's time. Magic 0 has no time."""
        return self.magic > 0 and bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction."""
        return self.magic > 1 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the records are markers, which applications never see (spec/001 "5.3.1.1 Control
        Batches").
        """
        return self.magic > 1 and bool(self.attributes & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may delete tombstones and markers (spec/001 "5.3.1 Record Batch"): then the base
        timestamp says so.
        """
        return self.base_timestamp if self.magic > 1 and self.attributes & DELETE_HORIZON else None

    @property
    def last_offset(self) -> int:
        """Offset of the last record the batch ever had. Compaction may have removed it."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record the batch ever had; NO_SEQUENCE without."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return _wrapped(self.base_sequence + self.last_offset_delta)

    def sequence_of(self, offset: int) -> int | None:
        """Sequence number of the record at an absolute offset; None where the producer is not idempotent."""
        if self.base_sequence == NO_SEQUENCE or self.is_control:
            return None
        return _wrapped(self.base_sequence + offset - self.base_offset)


def _wrapped(sequence: int) -> int:
    return sequence if sequence <= MAX_SEQUENCE else sequence - MAX_SEQUENCE - 1


Header = tuple[str | bytes, bytes | None]
"""Key and value. The key is bytes if it is not UTF-8."""


class Record(NamedTuple):
    """A record with its absolute offset and its timestamp in milliseconds (-1: none).

    A NamedTuple, not a slotted class: a million are created and read once, and a tuple takes half the time to
    create.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    attributes: int = 0


# Add a fault, up to the number that a person reads.
def note(faults: list[RecordFault], fault: RecordFault) -> None:
    """Add a fault while there is room."""
    if len(faults) < MAX_FAULTS:
        faults.append(fault)
