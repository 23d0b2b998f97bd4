"""The records of a batch in one loop, where all of them fit: nearly always.

Says nothing about what does not fit: `records_v2` goes over the same bytes and tells. A test holds both
equal.
"""

from kdissect.decoders.jsonable import text_or_bytes
from kdissect.decoders.records.varint import MAX_VARINT, MAX_VARLONG, varint
from kdissect.model.record_batch import Header, Record, RecordBatch

# Of more no list is made: 19 million records of 7 bytes fit what a batch may decompress to. A producer sends
# 16 KB (batch.size), a broker takes 1 MiB (message.max.bytes) unless told otherwise.
PLAIN_BYTES = 1 << 20
PLAIN_RECORDS = 20_000
_new = tuple.__new__  # half the time of Record(...)


def plain_records(batch: RecordBatch, data: bytes, start: int, end: int) -> list[Record] | None:
    """The records in `data[start:end]`; None where anything does not fit, or there is too much of it."""
    if end - start > PLAIN_BYTES or batch.count is None or batch.count > PLAIN_RECORDS:
        return None
    try:
        records = _records(batch, data, start, end)
    except (IndexError, ValueError):
        return None
    return records if len(records) == batch.count else None


def _records(  # noqa: C901  five varints in place: a call for each would cost as much as the rest
    batch: RecordBatch, data: bytes, at: int, end: int
) -> list[Record]:
    # Hot, once a record: varints of one and two bytes are read in place. A length that leads too far shows
    # where the record should end, so nothing else need be compared.
    records: list[Record] = []
    append = records.append
    base_offset, base_time = batch.base_offset, batch.base_timestamp
    log_append_time = batch.max_timestamp if batch.is_log_append_time else None
    none: tuple[Header, ...] = ()
    while at < end:
        length = data[at]
        if length < 0x80:
            length, at = (length >> 1) ^ -(length & 1), at + 1
        elif (high := data[at + 1]) < 0x80:
            length, at = ((length & 0x7F | high << 7) >> 1) ^ -(length & 1), at + 2
        else:
            length, at = varint(data, at, end)
        stop = at + length
        attributes, delta = data[at], data[at + 1]
        if delta < 0x80:
            delta, at = (delta >> 1) ^ -(delta & 1), at + 2
        elif (high := data[at + 2]) < 0x80:
            delta, at = ((delta & 0x7F | high << 7) >> 1) ^ -(delta & 1), at + 3
        else:
            delta, at = varint(data, at + 1, stop, MAX_VARLONG)
        offset = data[at]
        if offset < 0x80:
            offset, at = (offset >> 1) ^ -(offset & 1), at + 1
        elif (high := data[at + 1]) < 0x80:
            offset, at = ((offset & 0x7F | high << 7) >> 1) ^ -(offset & 1), at + 2
        else:
            offset, at = varint(data, at, stop, MAX_VARINT)
        size = data[at]
        if size < 0x80:
            size, at = (size >> 1) ^ -(size & 1), at + 1
        else:
            size, at = varint(data, at, stop)
        key = None
        if size >= 0:
            key = data[at : at + size]
            at += size
        elif size != -1:
            raise ValueError
        size = data[at]
        if size < 0x80:
            size, at = (size >> 1) ^ -(size & 1), at + 1
        elif (high := data[at + 1]) < 0x80:
            size, at = ((size & 0x7F | high << 7) >> 1) ^ -(size & 1), at + 2
        else:
            size, at = varint(data, at, stop)
        value = None
        if size >= 0:
            value = data[at : at + size]
            at += size
        elif size != -1:
            raise ValueError
        headers = none
        if data[at]:
            headers, at = _headers(data, at, stop)
        else:
            at += 1
        if at != stop or stop > end:
            raise ValueError
        time = base_time + delta if log_append_time is None else log_append_time
        append(_new(Record, (base_offset + offset, time, key, value, headers, attributes)))
    return records


def _headers(data: bytes, at: int, stop: int) -> tuple[tuple[Header, ...], int]:
    count, at = varint(data, at, stop)
    if not 0 <= 2 * count <= stop - at:  # a header takes two bytes at least
        raise ValueError
    headers: list[Header] = []
    for _ in range(count):
        size = data[at]
        if size < 0x80:
            size, at = (size >> 1) ^ -(size & 1), at + 1
        else:
            size, at = varint(data, at, stop)
        if not 0 <= size <= stop - at:
            raise ValueError
        key, at = data[at : at + size], at + size
        size = data[at]
        if size < 0x80:
            size, at = (size >> 1) ^ -(size & 1), at + 1
        else:
            size, at = varint(data, at, stop)
        value = None
        if size >= 0:
            value = data[at : at + size]
            at += size
        elif size != -1:
            raise ValueError
        headers.append((text_or_bytes(key), value))
    return tuple(headers), at
