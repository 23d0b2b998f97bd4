"""The state of a partition's producers at an offset (`.snapshot`).

Format: org.apache.kafka.storage.internals.log.ProducerStateManager, PID_SNAPSHOT_MAP_SCHEMA.
"""

from collections.abc import Iterator
from struct import Struct

from crc32c import crc32c

from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.segments.batch_positions import SegmentPlaces
from kdissect.engine.segments.index_file import IndexFile, Values
from kdissect.engine.times import millis_text
from kdissect.model.record_batch import MAX_SEQUENCE, NO_TIMESTAMP
from kdissect.model.wording import plural

HEAD = Struct(">hIi")  # version, CRC-32C of all bytes after it, number of entries
_CRC_END = 6
VERSION = 1  # ProducerStateManager#PRODUCER_SNAPSHOT_VERSION; other versions never shipped


class ProducerSnapshot(IndexFile):
    """Entries: producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch,
    first offset of the transaction that is open. A producer without batches of its epoch has last offset -1.
    """

    name = "producer snapshot"
    layout = Struct(">qhiqiqiq")
    own_fields = (
        RowField("producer_id", "int64", "the producer"),
        RowField("producer_epoch", "int16", "its epoch"),
        RowField("coordinator_epoch", "int32", "of the transaction coordinator's last marker; -1 for none"),
        RowField("current_txn_first_offset", "int64", "first offset of the open transaction. Null for none"),
        RowField("last_timestamp", "string", "time of its last batch or marker, RFC 3339; null for none"),
        RowField("last_timestamp_ms", "int64", "this time in milliseconds since 1970 UTC"),
        RowField("first_sequence", "int32", "first sequence number of its last batch. Null without one"),
        RowField("last_sequence", "int32", "last sequence number of that batch"),
        RowField("last_offset", "int64", "offset of that batch's last record"),
        RowField("offset_delta", "int32", "how far the first and last offset of that batch are apart"),
    )

    def _pull_head(self) -> int:
        data = self.data
        if len(data) < HEAD.size:
            self.faults.append(f"{plural(len(data), 'byte is', 'bytes are')} no producer snapshot")
            return len(data)
        version, crc, count = HEAD.unpack_from(data)
        if version != VERSION:
            self.faults.append(f"version at byte 0: there is no version {version}")
            return len(data)
        computed = crc32c(memoryview(data)[_CRC_END:])
        if crc != computed:
            self.faults.append(f"CRC at byte 2: says {crc:#010x}, the bytes give {computed:#010x}")
        held = (len(data) - HEAD.size) // self.layout.size
        if count != held:
            self.faults.append(
                f"count at byte {_CRC_END}: {plural(count, 'entry', 'entries')}, room is for {held}"
            )
        return HEAD.size

    def _row(self, values: Values) -> Row:
        producer, epoch, sequence, offset, delta, timestamp, coordinator, first = values
        has_batch = offset >= 0
        return {
            "producer_id": producer,
            "producer_epoch": epoch,
            "coordinator_epoch": coordinator,
            "current_txn_first_offset": first if first >= 0 else None,
            "last_timestamp": millis_text(timestamp),
            "last_timestamp_ms": None if timestamp == NO_TIMESTAMP else timestamp,
            "first_sequence": _first_sequence(sequence, delta) if has_batch else None,
            "last_sequence": sequence if has_batch else None,
            "last_offset": offset if has_batch else None,
            "offset_delta": delta if has_batch else None,
        }

    def _entry_faults(
        self, values: Values, last: Values | None, places: SegmentPlaces | None
    ) -> Iterator[str]:
        for name, offset in (("last offset", values[3]), ("first offset of a transaction", values[7])):
            if offset >= self.base_offset:
                yield f"{name} {offset} lies behind the snapshot"
        if values[4] < 0 and values[3] >= 0:
            yield f"offset delta {values[4]} is negative"


def _first_sequence(last: int, delta: int) -> int:
    """Return the first sequence: after the largest one comes 0 (DefaultRecordBatch#decrementSequence)."""
    first = last - delta
    return first if first >= 0 or last < 0 else first + MAX_SEQUENCE + 1
