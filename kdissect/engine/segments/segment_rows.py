"""Rows of log segments and snapshots: one a batch, or one a record."""

import re
from collections.abc import Iterator
from typing import Any

from kdissect.decoders.compression.codec import codec_name
from kdissect.decoders.records.reader import iter_records
from kdissect.engine.exchange_rows import Row, RowField
from kdissect.engine.records.record_fields import RECORD_FIELDS, SCHEMA_COLUMNS
from kdissect.engine.records.record_rows import RecordRows, timestamp_type
from kdissect.engine.segments.segment_reader import PlacedBatch
from kdissect.engine.times import millis_text
from kdissect.model.record_batch import (
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RecordBatch,
    RecordFault,
)
from kdissect.schema.logs import METADATA_TOPIC

_PLACE = (
    RowField("number", "int64", "1-based number of the row in this output, for presentation only"),
    RowField("file", "string", "the segment or snapshot"),
    RowField("topic", "string", "topic by the name of the file's folder, or as `--topic` says"),
    RowField("partition", "int32", "partition by the name of the file's folder"),
    RowField("position", "int64", "byte of the file at which the batch begins"),
)
SEGMENT_BATCH_FIELDS = (
    *_PLACE,
    RowField("bytes", "int64", "size of the batch with its offset and length"),
    RowField("batch", "int32", "index of the batch in the file"),
    RowField(
        "base_offset", "int64", "offset of its first record. For compressed messages (magic 0 and 1) the last"
    ),
    RowField("last_offset", "int64", "offset of the last record it ever had"),
    RowField(
        "count", "int32", "number of records it says it has. Null for compressed messages of magic 0 and 1"
    ),
    RowField("records", "int32", "number of records that can be read"),
    RowField("magic", "int8", "format: 0, 1 or 2"),
    RowField("codec", "string", "compression: `none`, `gzip`, `snappy`, `lz4`, `zstd`"),
    RowField("timestamp_type", "string", "`create_time` or `log_append_time`; null for magic 0"),
    RowField("base_timestamp_ms", "int64", "timestamp its records count from. Null for none"),
    RowField("max_timestamp", "string", "largest timestamp, RFC 3339; null for none"),
    RowField("max_timestamp_ms", "int64", "this time in milliseconds since 1970 UTC"),
    RowField(
        "delete_horizon_ms", "int64", "when compaction may delete its tombstones. Null if that is not set"
    ),
    RowField("producer_id", "int64", "id of an idempotent producer, else null"),
    RowField("producer_epoch", "int16", "its epoch"),
    RowField("base_sequence", "int32", "sequence number of the first record. Null without one"),
    RowField("last_sequence", "int32", "sequence number of the last record. Null without one"),
    RowField("leader_epoch", "int32", "leader epoch the batch was appended in. Null for magic 0 and 1"),
    RowField("transactional", "bool", "whether its records belong to a transaction"),
    RowField("control", "bool", "whether its records are control records"),
    RowField("crc", "int64", "its checksum: CRC-32C, for magic 0 and 1 CRC-32"),
    RowField("crc_ok", "bool", "whether the bytes have that checksum"),
    RowField("faults", "list<string>", "what is wrong with it, the checksum left out"),
)
_OF_CAPTURES = frozenset(
    {
        "acquired",
        "delivery_count",
        "connection",
        "exchange",
        "direction",
        "client",
        "broker",
        "client_id",
        "principal",
        "software",
        "raw_offset",
        "packet",
        "time",
        "time_ns",
        "topic_id",
    }
)
_OF_RECORDS = [field for field in RECORD_FIELDS if field.name not in _OF_CAPTURES | SCHEMA_COLUMNS]
SEGMENT_RECORD_FIELDS = (
    *_PLACE,
    *(field for field in _OF_RECORDS if field.name not in {place.name for place in _PLACE}),
)

# `ledger-0`, also of a folder to be deleted or of a future replica (kafka.log.LocalLog).
_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(?:\.[0-9a-f]{32}-(?:delete|future|stray))?$")


def place_of(path: str, topic: str | None) -> tuple[str | None, int | None]:
    """Return the topic and partition by a file's path; `topic` given wins.

    Snapshots belong to the metadata log.
    """
    parts = re.split(r"[/\\]", path)
    found = _FOLDER.match(parts[-2]) if len(parts) > 1 else None
    partition = int(found["partition"]) if found else None
    if topic is None and parts[-1].endswith(".checkpoint"):
        topic = METADATA_TOPIC
    return topic or (found["topic"] if found else None), partition


class SegmentRows:
    """Makes rows of one file after the other: `begin()` each."""

    def __init__(self, records: RecordRows | None) -> None:
        self._records = records
        self._number = 0
        self._head: Row = {}

    def begin(self, file: str, topic: str | None, partition: int | None) -> None:
        """Begin a file, of which the next rows are."""
        self._head = {"file": file, "topic": topic, "partition": partition}

    def rows(self, placed: PlacedBatch, faults: list[RecordFault]) -> Iterator[Row]:
        """Yield one row for the batch, or one for each of its records, and add faults to `faults`."""
        if self._records is None:
            yield self._batch_row(placed, faults)
            return
        head = self._head | {"position": placed.position}
        for row in self._records.batch_rows(head, placed.number, placed.batch, faults):
            del row["raw_offset"]  # a log has no other offsets
            yield row

    def _batch_row(self, placed: PlacedBatch, faults: list[RecordFault]) -> Row:
        batch = placed.batch
        self._number += 1
        records = sum(1 for _ in iter_records(batch, faults))
        return {
            "number": self._number,
            **self._head,
            "position": placed.position,
            "bytes": batch.size,
            "batch": placed.number,
            "base_offset": batch.base_offset,
            "last_offset": batch.last_offset,
            "count": batch.count,
            "records": records,
            "magic": batch.magic,
            "codec": codec_name(batch.codec),
            "timestamp_type": timestamp_type(batch),
            "base_timestamp_ms": millis(batch.base_timestamp),
            "max_timestamp": millis_text(batch.max_timestamp),
            "max_timestamp_ms": millis(batch.max_timestamp),
            **batch_attributes(batch),
            "faults": [str(fault) for fault in (*batch.faults, *faults) if fault.path != "crc"],
        }


def millis(timestamp: int) -> int | None:
    """Return a timestamp of a batch; None for none."""
    return None if timestamp == NO_TIMESTAMP else timestamp


def batch_attributes(batch: RecordBatch) -> dict[str, Any]:
    """Return the fields of a batch's header besides its offsets and times; null: not set, or not in its
    format.
    """
    has_producer = batch.producer_id != NO_PRODUCER_ID
    has_sequence = batch.base_sequence != NO_SEQUENCE
    return {
        "delete_horizon_ms": batch.delete_horizon_ms,
        "producer_id": batch.producer_id if has_producer else None,
        "producer_epoch": batch.producer_epoch if has_producer else None,
        "base_sequence": batch.base_sequence if has_sequence else None,
        "last_sequence": batch.last_sequence if has_sequence else None,
        "leader_epoch": batch.leader_epoch if batch.magic > 1 else None,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "crc": batch.crc,
        "crc_ok": batch.crc_is_right,
    }
