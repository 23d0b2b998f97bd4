"""Keys, values and headers of record batches blanked, whatever the format and the codec.

Markers of transactions stay, and the keys of other control records: they say what kind it is. Unreadable
parts are removed as a whole, and so are compressed messages inside of compressed messages.
"""

import zlib

from crc32c import crc32c

from kdissect.decoders.compression.codec import decompress
from kdissect.decoders.compression.compress import compress
from kdissect.decoders.records.batch_layout import ATTRIBUTES_AT, CURRENT_MAGIC, LENGTH_AT, MAGIC_AT, OVERHEAD
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.varint import MAX_VARLONG, record_bounds, varint
from kdissect.engine.secrets.patches import FILLER
from kdissect.model.errors import DecodeError
from kdissect.model.record_batch import RecordBatch

Span = tuple[int, int]
_LEGACY_CRC_AT = OVERHEAD


def redacted_batch(batch: RecordBatch) -> bytes | None:
    """Return all bytes of the batch in a form that may be published, or None if they may stay. Raises no
    exception.

    A right checksum is right again, a wrong one stays. Compressed batches may have another length.
    """
    if batch.is_control and batch.is_transactional and batch.crc_is_right:
        return None  # with a wrong one the bits may be damaged, and the records users' own
    if batch.magic == CURRENT_MAGIC:
        return _current(batch)
    return _legacy(batch, may_nest=True)


def _current(batch: RecordBatch) -> bytes:
    head = batch.data[batch.start : batch.records_start]
    records = batch.data[batch.records_start : batch.end]
    return _closed(batch, head, _records(batch, records), ATTRIBUTES_AT, MAGIC_AT + 1)


def _records(batch: RecordBatch, records: bytes) -> bytes:
    if not batch.codec:
        return _blanked(records, batch.is_control)
    try:
        content = decompress(batch.codec, records)
    except DecodeError:
        return FILLER * len(records)
    made = compress(batch.codec, _blanked(content, batch.is_control), records, batch.magic)
    return FILLER * len(records) if made is None else made


def _legacy(message: RecordBatch, may_nest: bool) -> bytes:
    """Redact a message of magic 0 or 1."""
    data, at = message.data, message.records_start
    head = data[message.start : at]
    parts = []
    for name in ("key", "value"):
        length = int.from_bytes(data[at : at + 4], signed=True)
        end = at + 4 + max(length, 0)
        if length < -1 or end > message.end:
            break
        content = data[at + 4 : end]
        if name == "value" and message.codec and length > 0:
            content = _inner(message, content) if may_nest else FILLER * len(content)
            parts.append(len(content).to_bytes(4) + content)
        else:
            parts.append(data[at : at + 4] + FILLER * len(content))
        at = end
    parts.append(FILLER * (message.end - at))
    return _closed(message, head, b"".join(parts), MAGIC_AT, _LEGACY_CRC_AT)


def _inner(message: RecordBatch, value: bytes) -> bytes:
    """Redact the messages inside a compressed one, and compress them again."""
    try:
        content = decompress(message.codec, value, magic=message.magic)
    except DecodeError:
        return FILLER * len(value)
    parts, at = [], 0
    for inner in split_batches(content, 0, len(content)).batches:
        if inner.start < at:
            continue
        is_legacy = inner.magic < CURRENT_MAGIC
        shown = _legacy(inner, may_nest=False) if is_legacy else FILLER * inner.size
        parts += [FILLER * (inner.start - at), shown]
        at = inner.end
    parts.append(FILLER * (len(content) - at))
    made = compress(message.codec, b"".join(parts), value, message.magic)
    return FILLER * len(value) if made is None else made


def _closed(batch: RecordBatch, head: bytes, content: bytes, crc_from: int, crc_at: int) -> bytes:
    """Return the header and content, with the length and the checksum they need."""
    out = bytearray(head + content)
    out[LENGTH_AT:OVERHEAD] = (len(out) - OVERHEAD).to_bytes(4)
    if batch.crc_is_right:
        crc = crc32c if batch.magic == CURRENT_MAGIC else zlib.crc32
        out[crc_at : crc_at + 4] = crc(bytes(out[crc_from:])).to_bytes(4)
    return bytes(out)


def _blanked(records: bytes, keep_keys: bool) -> bytes:
    """Return records of magic 2 without keys, values, names and values of headers."""
    out = bytearray(records)
    at, end = 0, len(records)
    while at < end:
        try:
            body, stop = record_bounds(records, at, end)
        except ValueError:
            out[at:] = FILLER * (end - at)
            break
        _blank_record(records, out, body, stop, keep_keys)
        at = stop
    return bytes(out)


def _blank_record(records: bytes, out: bytearray, at: int, stop: int, keep_key: bool) -> None:
    start = at
    try:
        _, at = varint(records, start + 1, stop, MAX_VARLONG)  # attributes, then the timestamp's delta
        _, at = varint(records, at, stop)  # offset delta
        key = at
        at = _blank_content(records, out, at, stop)
        if keep_key:
            out[key:at] = records[key:at]
        at = _blank_content(records, out, at, stop)
        count, at = varint(records, at, stop)
        for _ in range(2 * count):
            at = _blank_content(records, out, at, stop)
    except ValueError:
        at = start
    out[at:stop] = FILLER * (stop - at)


def _blank_content(records: bytes, out: bytearray, at: int, stop: int) -> int:
    length, begin = varint(records, at, stop)
    end = begin + max(length, 0)
    if length < -1 or end > stop:
        raise ValueError
    out[begin:end] = FILLER * (end - begin)
    return end
