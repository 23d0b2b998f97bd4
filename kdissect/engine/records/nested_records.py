"""Batches and records inside the JSON of a body: next to `{"bytes": n}`, as `batches`."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from kdissect.decoders.as_json.jsonable import text_value
from kdissect.decoders.compression.codec import codec_name
from kdissect.decoders.payloads.internal_records import record_log
from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import read_records
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.engine.records.internal_forms import own_record
from kdissect.engine.records.record_rows import TopicNames, timestamp_type
from kdissect.engine.records.record_sets import RecordSet, record_batches, records_side
from kdissect.engine.records.record_values import RecordValues
from kdissect.model.anomaly import Anomaly
from kdissect.model.record_batch import Header, Record, RecordBatch, RecordFault
from kdissect.schema.logs import METADATA_TOPIC, may_be_metadata_topic
from kdissect.schema.protocol_messages import request_message, response_message
from kdissect.schema.types import Array, Primitive, Struct
from kdissect.session.exchange import Exchange

# Records of one batch on one line; `kdissect records` prints any number.
MAX_RECORDS = 100_000


def nest_batches(
    row: dict[str, Any],
    exchange: Exchange,
    show_secrets: bool,
    topic_name: TopicNames | None,
    values: RecordValues | None = None,
) -> list[Anomaly]:
    """Add `batches` to the records in the bodies of a row, and return their anomalies. Raises nothing."""
    side, body = _body_with_records(row, exchange)
    if body is None:
        return []
    anomalies: list[Anomaly] = []
    # Fields of JSON stand in the order of the wire, as the records fields do.
    for place, (records_field, found) in zip(
        _records_fields(body, exchange, side), record_batches(exchange), strict=False
    ):
        faults: list[tuple[int, RecordFault]] = []
        topic = records_field.topic
        if topic is None and topic_name is not None:
            topic = topic_name(_record_set(exchange, side, records_field))
        if topic is None and exchange.is_of_metadata and may_be_metadata_topic(records_field.topic_id):
            topic = METADATA_TOPIC  # as in the request
        place["batches"] = batch_values(found.batches, topic, faults, show_secrets, values)
        if found.cut:
            place["cut"] = found.cut
        if faults or found.faults:
            anomalies += _record_set(exchange, side, records_field).anomalies(faults)
    return anomalies


def batch_values(
    batches: Iterable[RecordBatch],
    topic: str | None,
    faults: list[tuple[int, RecordFault]],
    show_secrets: bool,
    values: RecordValues | None = None,
) -> list[dict[str, Any]]:
    """Return batches as dicts for JSON; what is wrong in them is added to `faults`, with their index.

    `values` decodes keys and values of users' records.
    """
    return [_batch(batch, topic, index, faults, show_secrets, values) for index, batch in enumerate(batches)]


def nested_batches(row: dict[str, Any], exchange: Exchange) -> Iterator[list[dict[str, Any]]]:
    """Yield the batches that `nest_batches` added to each records field of a row."""
    side, body = _body_with_records(row, exchange)
    if body is not None:
        for place in _records_fields(body, exchange, side):
            yield place.get("batches", [])


def _body_with_records(row: dict[str, Any], exchange: Exchange) -> tuple[bool, dict[str, Any] | None]:
    """Return whether the response has the records, and its body, or None without one."""
    side = None if exchange.api_key is None else records_side(exchange.api_key)
    frame = row["response" if side else "request"]
    if side is None or frame is None or (frame.get("error") and exchange.is_near_secrets):
        return bool(side), None  # a part of a body does not show whose records may contain secrets
    return bool(side), frame.get("body")


def _records_fields(body: dict[str, Any], exchange: Exchange, is_response: bool) -> list[dict[str, Any]]:
    assert exchange.api_key is not None  # there is a body
    return _places(body, _records_paths(exchange.api_key, is_response))


def _record_set(exchange: Exchange, is_response: bool, records_field: RecordsField) -> RecordSet:
    frame = exchange.response if is_response else exchange.request
    assert frame is not None  # there are records in it
    return RecordSet(exchange, is_response, frame, records_field)


@cache
def _records_paths(api_key: int, is_response: bool) -> tuple[tuple[str, ...], ...]:
    """Return the paths of a message's records fields, in the order of the wire."""
    message = response_message(api_key) if is_response else request_message(api_key)
    return () if message is None else tuple(_paths_in(message.root))


def _paths_in(struct: Struct) -> Iterator[tuple[str, ...]]:
    for field in struct.fields:
        inner = field.type.element if isinstance(field.type, Array) else field.type
        if inner is Primitive.RECORDS:
            yield (field.name,)
        elif isinstance(inner, Struct):
            yield from ((field.name, *path) for path in _paths_in(inner))


def _places(body: dict[str, Any], paths: tuple[tuple[str, ...], ...]) -> list[dict[str, Any]]:
    """Return the records fields of a body that are not null."""
    found: list[dict[str, Any]] = []
    for path in paths:
        _add_places(found, body, path, 0)
    return found


def _add_places(
    found: list[dict[str, Any]], value: dict[str, Any], path: tuple[str, ...], depth: int
) -> None:
    item = value.get(path[depth])
    if item is None:
        return
    if depth == len(path) - 1:
        found.append(item)
        return
    for element in item if isinstance(item, list) else (item,):
        _add_places(found, element, path, depth + 1)


def _batch(
    batch: RecordBatch,
    topic: str | None,
    index: int,
    faults: list[tuple[int, RecordFault]],
    show_secrets: bool,
    values: RecordValues | None,
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
    if record_log(topic, batch.is_control) is None and not batch.is_control:
        told["records"] = [_plain_record(record) for record in found.records]
        if values is not None:
            for record, row in zip(found.records, told["records"], strict=True):
                values.add(row, topic, record)
    else:
        told["records"] = [_record(record, batch, topic, show_secrets) for record in found.records]
    return told


def _modern(batch: RecordBatch) -> dict[str, Any]:
    """Return the fields that only magic 2 has."""
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


def _plain_record(record: Record) -> dict[str, Any]:
    """Return a record of a user's topic, equal to the result of `_record`, but faster."""
    offset, timestamp, key, value, headers, _ = record
    told: dict[str, Any] = {
        "offset": offset,
        "timestamp": timestamp,
        "key": None if key is None else text_value(key),
        "value": None if value is None else text_value(value),
    }
    if headers:
        told["headers"] = _headers(headers)
    return told


def _headers(headers: tuple[Header, ...]) -> list[dict[str, Any]]:
    return [
        {"key": key if isinstance(key, str) else text_value(key), "value": _text(value, None)}
        for key, value in headers
    ]


def _record(record: Record, batch: RecordBatch, topic: str | None, show_secrets: bool) -> dict[str, Any]:
    own = own_record(topic, record, batch.is_control, show_secrets)
    told: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key, own.key_mask if own else None),
        "value": _text(record.value, own.value_mask if own else None),
    }
    if record.headers:
        told["headers"] = _headers(record.headers)
    control = control_key(record.key) if batch.is_control else None
    if control is not None:
        told["control"] = control.name
    if own is not None:
        told["decoded"] = {"key": own.key, "value": own.value}
    return told


def _text(content: bytes | None, mask: str | None) -> Any:
    return None if content is None else mask or text_value(content)
