"""Records to rows of `RECORD_FIELDS`."""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kdissect.decoders.as_json.jsonable import text_value
from kdissect.decoders.compression.codec import codec_name
from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import iter_records
from kdissect.engine.exchange_rows import Row, topic_id_text
from kdissect.engine.records.acquired import Acquired, AcquiredRecords
from kdissect.engine.records.assigned_offsets import AssignedOffsets, LogOffsets
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.times import MS_NS, rfc3339
from kdissect.model.anomaly import Anomaly
from kdissect.model.packets.packet import FILE_SHIFT, NUMBER_MASK
from kdissect.model.record_batch import NO_PRODUCER_ID, NO_TIMESTAMP, Record, RecordBatch, RecordFault
from kdissect.schema.logs import METADATA_TOPIC, is_own_log, may_be_metadata_topic

if TYPE_CHECKING:
    from kdissect.engine.records.record_values import RecordValues

_ValueForm = Callable[[bytes], Any]


def _hex(data: bytes) -> str:
    return data.hex()


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


def _json(data: bytes) -> Any:
    """Return the JSON value, or text if the bytes are not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return text_value(data)


def _text_of(data: bytes, form: str) -> str:
    """Return a value as a string, for string columns: `json` is the JSON text itself, and bytes that are not
    UTF-8 become `\\\\xNN`.
    """
    if form == "hex":
        return _hex(data)
    return _base64(data) if form == "base64" else data.decode("utf-8", "backslashreplace")


_VALUE_FORMS: dict[str, _ValueForm] = {
    "text": text_value,
    "hex": _hex,
    "json": _json,
    "base64": _base64,
    # for columns that contain only bytes or strings
    "raw": bytes,
    "text only": lambda data: _text_of(data, "text"),
    "hex only": _hex,
    "json only": lambda data: _text_of(data, "json"),
    "base64 only": _base64,
}
"""By the names of `--key-format` and `--value-format`.

`text` gives `{"base64": ...}` for what is no UTF-8.
"""


RecordTest = Callable[[str | None, Record], bool]
"""Whether a record of a topic is wanted."""

TopicNames = Callable[[RecordSet], str | None]
"""The topic name of a records field that has only an id on the wire, or None if it is not known."""


class RecordRows:
    """Turns records fields into rows. `files` are the inputs' names by file index, and may still grow.

    `key_form` and `value_form` are names of `_VALUE_FORMS`; `time_form` takes nanoseconds since 1970.
    `values` adds the columns `SCHEMA_FIELDS`, which rows have only with it.
    """

    def __init__(
        self,
        files: Sequence[str],
        key_form: str = "text",
        value_form: str = "text",
        show_secrets: bool = False,
        topic_name: TopicNames | None = None,
        time_form: Callable[[int], str | None] = rfc3339,
        values: RecordValues | None = None,
    ) -> None:
        self._files = files
        self._key = _VALUE_FORMS[key_form]
        self._value = _VALUE_FORMS[value_form]
        self._time = time_form
        self._show_secrets = show_secrets
        self._topic_name = topic_name
        self._values = values
        self.count = 0
        """Rows so far: the number of the last one."""
        self._acquired = AcquiredRecords()
        self._assigned = AssignedOffsets()

    def rows(
        self, records: RecordSet, anomalies: list[Anomaly], accepts: RecordTest | None = None
    ) -> Iterator[Row]:
        """Yield the rows of one field as they are read, and add faults to `anomalies` at the end.

        `accepts` chooses among its records.
        """
        faults: list[tuple[int, RecordFault]] = []
        head = self._head(records)
        acquired, offsets = self._acquired.of(records), self._assigned.of(records)
        for index, batch in enumerate(records.found.batches):
            found = list(batch.faults)
            rows = self.batch_rows(head, index, batch, found, offsets, accepts)
            yield from rows if acquired is None else _with_deliveries(rows, acquired)
            faults += [(index, fault) for fault in found]
        anomalies += records.anomalies(faults)

    def batch_rows(
        self,
        head: Row,
        index: int,
        batch: RecordBatch,
        faults: list[RecordFault],
        offsets: LogOffsets | None = None,
        accepts: RecordTest | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of one batch, `head` before each; `offsets` are the field's assigned offsets, if it
        has some.
        """
        common = {"number": 0, **head, **self._batch(index, batch)}
        topic, is_control = common["topic"], batch.is_control
        is_own = is_control or is_own_log(topic)
        values = None if is_own else self._values
        number = -1
        for number, record in enumerate(iter_records(batch, faults)):
            if accepts is not None and not accepts(topic, record):
                continue
            self.count += 1
            row = common.copy()
            row["number"] = self.count
            row["record"] = number
            self._fill(row, batch, record)
            if offsets is not None:
                row["offset"] = offsets.of(batch, number, record)
            if values is not None:
                values.fill(row, record)
            if is_own:
                self._add_own(row, record, is_control)
            yield row
        if offsets is not None:
            offsets.skip(batch, number + 1, not faults)

    def _head(self, records: RecordSet) -> Row:
        """Return the columns that all records of a field share."""
        exchange, records_field, frame = records.exchange, records.records_field, records.frame
        return {
            "connection": exchange.connection.id,
            "exchange": exchange.ordinal,
            "direction": records.direction,
            "client": exchange.connection.client_text,
            "broker": exchange.connection.broker_text,
            "client_id": exchange.client_id,
            "principal": exchange.connection.principal,
            "software": exchange.connection.software,
            "file": self._files[frame.first_ref >> FILE_SHIFT],
            "packet": frame.first_ref & NUMBER_MASK,
            "time": self._time(frame.time_ns),
            "time_ns": frame.time_ns,
            "topic": record_topic(records, self._topic_name),
            "topic_id": None if records_field.topic_id is None else topic_id_text(records_field.topic_id),
            "partition": records_field.partition,
        }

    def _batch(self, index: int, batch: RecordBatch) -> Row:
        """Return the columns that all records of a batch share, in the order of the row."""
        has_producer = batch.producer_id != NO_PRODUCER_ID
        return {
            "batch": index,
            "record": 0,
            "offset": 0,
            "raw_offset": 0,
            "timestamp": None,
            "timestamp_ms": None,
            "timestamp_type": timestamp_type(batch),
            "key": None,
            "value": None,
            "headers": None,
            "key_bytes": None,
            "value_bytes": None,
            "producer_id": batch.producer_id if has_producer else None,
            "producer_epoch": batch.producer_epoch if has_producer else None,
            "sequence": None,
            "transactional": batch.is_transactional,
            "control": None,
            "codec": codec_name(batch.codec),
            "magic": batch.magic,
            "leader_epoch": None if batch.leader_epoch < 0 else batch.leader_epoch,
            "crc_ok": batch.crc_is_right,
        }

    def _fill(self, row: Row, batch: RecordBatch, record: Record) -> None:
        key, value = record.key, record.value
        row["offset"] = row["raw_offset"] = record.offset
        if record.timestamp != NO_TIMESTAMP:
            row["timestamp"] = self._time(record.timestamp * MS_NS)
            row["timestamp_ms"] = record.timestamp
        if key is not None:
            row["key"] = self._key(key)
            row["key_bytes"] = len(key)
        if value is not None:
            row["value"] = self._value(value)
            row["value_bytes"] = len(value)
        row["headers"] = [
            {"key": name if isinstance(name, str) else self._value(name), "value": self._header(content)}
            for name, content in record.headers
        ]
        row["sequence"] = batch.sequence_of(record.offset)

    def _header(self, content: bytes | None) -> Any:
        return None if content is None else self._value(content)

    def _add_own(self, row: Row, record: Record, is_control: bool) -> None:
        """Add the content of a record in Kafka's own topics, and mask its bytes if they contain secrets."""
        # Start-up: it loads the payloads, and few captures have such records.
        from kdissect.engine.records.internal_forms import own_record

        if is_control:
            control = control_key(record.key)
            row["control"] = None if control is None else control.name
        own = own_record(row["topic"], record, is_control, self._show_secrets)
        if own is None:
            return
        row["decoded"] = {"key": own.key, "value": own.value}
        if own.key_mask:
            row["key"] = own.key_mask
        if own.value_mask:
            row["value"] = own.value_mask


def _with_deliveries(rows: Iterator[Row], acquired: Acquired) -> Iterator[Row]:
    for row in rows:
        decoded = row.pop("decoded", None)
        row["acquired"], row["delivery_count"] = acquired.of(row["raw_offset"])
        if decoded is not None:
            row["decoded"] = decoded
        yield row


def record_topic(records: RecordSet, topic_name: TopicNames | None) -> str | None:
    """Return the topic's name for a field: from the wire, by its id, or from the request."""
    field = records.records_field
    if field.topic is not None or topic_name is None:
        return field.topic
    found = topic_name(records)
    if found is None and records.exchange.is_of_metadata and may_be_metadata_topic(field.topic_id):
        return METADATA_TOPIC
    return found


def timestamp_type(batch: RecordBatch) -> str | None:
    """Return the type of a batch's timestamps; None for magic 0, which has none."""
    if batch.magic == 0:
        return None
    return "log_append_time" if batch.is_log_append_time else "create_time"
