"""Batches and records inside the JSON of a body: beside `{"bytes": n}`, as `batches`."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.compression.codec import codec_name
from kdissect.decoders.jsonable import text_value
from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import read_records
from kdissect.engine.own_records import own_record
from kdissect.engine.record_rows import TopicNames, record_topic, timestamp_type
from kdissect.engine.record_sets import record_sets, records_side
from kdissect.model.anomaly import Anomaly
from kdissect.model.record import Record
from kdissect.model.record_batch import RecordBatch, RecordFault
from kdissect.session.exchange import Exchange

# Records of one batch on one line; `kdissect records` prints any number.
MAX_RECORDS = 100_000
_FIELDS = frozenset({"records", "unaligned_records"})  # names of the fields of type records


def nest_batches(
    row: dict[str, Any], exchange: Exchange, show_secrets: bool, topic_name: TopicNames | None
) -> list[Anomaly]:
    """Add `batches` to the records in the bodies of a row; gives what is wrong in them. Raises nothing."""
    side = None if exchange.api_key is None else records_side(exchange.api_key)
    frame = row["response" if side else "request"]
    body = None if side is None or frame is None else frame.get("body")
    if body is None:
        return []
    anomalies: list[Anomaly] = []
    # Fields of JSON stand in the order of the wire, as the records fields do.
    for place, records in zip(_places(body), record_sets(exchange), strict=False):
        faults: list[tuple[int, RecordFault]] = []
        topic = record_topic(records, topic_name)
        place["batches"] = [
            _batch(batch, topic, index, faults, show_secrets)
            for index, batch in enumerate(records.found.batches)
        ]
        if records.found.cut:
            place["cut"] = records.found.cut
        anomalies += records.anomalies(faults)
    return anomalies


def _places(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _places(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _FIELDS and isinstance(item, dict) and "bytes" in item:
                yield item
            else:
                yield from _places(item)


def _batch(
    batch: RecordBatch,
    topic: str | None,
    index: int,
    faults: list[tuple[int, RecordFault]],
    show_secrets: bool,
) -> dict[str, Any]:
    found = read_records(batch, most=MAX_RECORDS)
    faults += [(index, fault) for fault in (*batch.faults, *found.faults)]
    told: dict[str, Any] = {
        "base_offset": batch.base_offset,
        "bytes": batch.size,
        "magic": batch.magic,
        "crc": batch.crc,
        "crc_ok": batch.crc_is_right,
        "codec": codec_name(batch.codec),
        "timestamp_type": timestamp_type(batch),
    }
    if batch.magic > 1:
        told |= _modern(batch)
    told["records"] = [_record(record, batch, topic, show_secrets) for record in found.records]
    return told


def _modern(batch: RecordBatch) -> dict[str, Any]:
    """What only magic 2 has."""
    told = {
        "partition_leader_epoch": batch.leader_epoch,
        "transactional": batch.is_transactional,
        "control": batch.is_control,
        "last_offset_delta": batch.last_offset_delta,
        "base_timestamp": batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "record_count": batch.count,
    }
    if batch.delete_horizon_ms is not None:
        told["delete_horizon_ms"] = batch.delete_horizon_ms
    return told


def _record(record: Record, batch: RecordBatch, topic: str | None, show_secrets: bool) -> dict[str, Any]:
    own = own_record(topic, record, batch.is_control, show_secrets)
    told: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key, own.key_mask if own else None),
        "value": _text(record.value, own.value_mask if own else None),
    }
    if record.headers:
        told["headers"] = [
            {"key": key if isinstance(key, str) else text_value(key), "value": _text(value, None)}
            for key, value in record.headers
        ]
    control = control_key(record.key) if batch.is_control else None
    if control is not None:
        told["control"] = control.name
    if own is not None:
        told["decoded"] = {"key": own.key, "value": own.value}
    return told


def _text(content: bytes | None, mask: str | None) -> Any:
    return None if content is None else mask or text_value(content)
