"""Records of magic 2 (spec/001 "5.3.2 Record")."""

from collections.abc import Iterator

from kdissect.decoders.as_json.jsonable import text_or_bytes
from kdissect.decoders.records.varint import MAX_VARLONG, record_bounds, varint
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import Header, Record, RecordBatch, RecordFault, note
from kdissect.model.wording import plural


class _RecordError(Exception):
    """A part of a record does not fit: its name, its offset, the reason."""

    def __init__(
        self, part: str, offset: int, why: str, kind: AnomalyKind = AnomalyKind.MALFORMED_RECORD
    ) -> None:
        super().__init__(part, offset, why)
        self.part = part
        self.offset = offset
        self.why = why
        self.kind = kind


def iter_records_v2(
    batch: RecordBatch, data: bytes, start: int, end: int, faults: list[RecordFault], *, inside: bool
) -> Iterator[Record]:
    """Yield all records in `data[start:end]`, whatever number the batch states."""
    at = start
    index = 0
    while at < end:
        try:
            body, stop = record_bounds(data, at, end)
        except ValueError as error:
            note(faults, _fault(index, _RecordError("length", at, str(error)), inside))
            return
        try:
            yield _record(batch, data, body, stop)
        except _RecordError as error:
            note(faults, _fault(index, error, inside))
        at = stop
        index += 1
    if index != batch.count:
        why = f"says {batch.count}, {plural(index, 'record fills', 'records fill')} the batch"
        note(faults, RecordFault(AnomalyKind.BAD_RECORD_COUNT, "count", batch.records_start - 4, why))


def _fault(index: int, error: _RecordError, inside: bool) -> RecordFault:
    path = f"records[{index}].{error.part}"
    return RecordFault(error.kind, path, error.offset, error.why, inside)


def _record(batch: RecordBatch, data: bytes, at: int, stop: int) -> Record:
    """Return the record whose bytes behind the length are `data[at:stop]`."""
    if at >= stop:
        raise _RecordError("attributes", at, "the record is empty")
    attributes = data[at]
    delta, at = _pull("timestamp_delta", data, at + 1, stop, MAX_VARLONG)
    offset_delta, at = _pull("offset_delta", data, at, stop)
    key, at = _bytes("key", data, at, stop)
    value, at = _bytes("value", data, at, stop)
    headers: tuple[Header, ...] = ()
    if at < stop and not data[at]:  # nearly always
        at += 1
    else:
        headers, at = _headers(data, at, stop)
    if at != stop:
        raise _RecordError(
            "length", at, f"{plural(stop - at, 'byte is', 'bytes are')} left over in the record"
        )
    timestamp = batch.max_timestamp if batch.is_log_append_time else batch.base_timestamp + delta
    return Record(batch.base_offset + offset_delta, timestamp, key, value, headers, attributes)


def _pull(part: str, data: bytes, at: int, stop: int, most: int = 5) -> tuple[int, int]:
    # Hot, four times a record: nearly all varints have one byte.
    if at < stop and (byte := data[at]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    try:
        return varint(data, at, stop, most)
    except ValueError as error:
        raise _RecordError(part, at, str(error)) from None


def _bytes(part: str, data: bytes, at: int, stop: int) -> tuple[bytes | None, int]:
    """Return nullable bytes: a length, -1 for null, and the bytes."""
    length, begin = _pull(part, data, at, stop)
    if length < 0:
        if length != -1:
            raise _RecordError(part, at, f"length {length} is negative", AnomalyKind.NEGATIVE_LENGTH)
        return None, begin
    end = begin + length
    if end > stop:
        raise _RecordError(
            part,
            at,
            f"{plural(length, 'byte runs', 'bytes run')} past the end of the record, {stop - begin} left",
        )
    return data[begin:end], end


def _headers(data: bytes, at: int, stop: int) -> tuple[tuple[Header, ...], int]:
    start = at
    count, at = _pull("headers", data, at, stop)
    if count < 0:
        raise _RecordError("headers", start, f"count {count} is negative")
    if 2 * count > stop - at:  # a header takes two bytes at least
        raise _RecordError(
            "headers",
            start,
            f"{plural(count, 'header does', 'headers do')} not fit the {plural(stop - at, 'byte')} left",
        )
    headers: list[Header] = []
    for index in range(count):
        begin = at
        key, at = _bytes(f"headers[{index}].key", data, at, stop)
        if key is None:
            why = "null is not allowed"
            raise _RecordError(f"headers[{index}].key", begin, why, AnomalyKind.NULL_HEADER_KEY)
        value, at = _bytes(f"headers[{index}].value", data, at, stop)
        headers.append((text_or_bytes(key), value))
    return tuple(headers), at
