"""Keys, values and headers of record batches redacted, whatever the format and the codec.

Markers of transactions stay, and the keys of other control records: they say what kind it is. Unreadable
parts are removed as a whole, and so are compressed messages inside of compressed messages.
"""

import zlib
from collections.abc import Callable, Sequence

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
Parts = Sequence[bytes | None]
"""Key and value of a record, then the key and value of each header."""
Redact = Callable[[Parts], Parts]
"""Returns parts of the same lengths that may be published. Raises no exception."""
_LEGACY_CRC_AT = OVERHEAD


def blank_parts(parts: Parts) -> Parts:
    """Return filler instead of all parts."""
    return [None if part is None else FILLER * len(part) for part in parts]


def redacted_batch(batch: RecordBatch, redact: Redact = blank_parts) -> bytes | None:
    """Return all bytes of the batch in a form that may be published, or None if they may stay. Raises no
    exception.

    A right checksum is right again, a wrong one stays. Compressed batches may have another length, if a part
    of their records changes.
    """
    if batch.is_control and batch.is_transactional and batch.crc_is_right:
        return None  # with a wrong one the bits may be damaged, and the records users' own
    if batch.magic == CURRENT_MAGIC:
        return _current(batch, redact)
    return _legacy(batch, redact, may_nest=True)


def _current(batch: RecordBatch, redact: Redact) -> bytes:
    head = batch.data[batch.start : batch.records_start]
    records = batch.data[batch.records_start : batch.end]
    return _closed(batch, head, _records(batch, records, redact), ATTRIBUTES_AT, MAGIC_AT + 1)


def _records(batch: RecordBatch, records: bytes, redact: Redact) -> bytes:
    if not batch.codec:
        return _redacted(records, batch.is_control, redact)
    try:
        content = decompress(batch.codec, records)
    except DecodeError:
        return FILLER * len(records)
    shown = _redacted(content, batch.is_control, redact)
    if shown == content:
        return records
    made = compress(batch.codec, shown, records, batch.magic)
    return FILLER * len(records) if made is None else made


def _legacy(message: RecordBatch, redact: Redact, may_nest: bool) -> bytes:
    """Redact a message of magic 0 or 1."""
    data, at = message.data, message.records_start
    head = data[message.start : at]
    found: list[bytes | None] = []
    for _ in ("key", "value"):
        length = int.from_bytes(data[at : at + 4], signed=True)
        end = at + 4 + max(length, 0)
        if length < -1 or end > message.end:
            break
        found.append(None if length < 0 else data[at + 4 : end])
        at = end
    inner = found.pop() if message.codec and len(found) == 2 and found[1] else None
    parts = [] if not found else list(redact([*found, None][:2])[: len(found)])
    if inner is not None:
        parts.append(_inner(message, inner, redact) if may_nest else FILLER * len(inner))
    content = [b"\xff" * 4 if part is None else len(part).to_bytes(4) + part for part in parts]
    content.append(FILLER * (message.end - at))
    return _closed(message, head, b"".join(content), MAGIC_AT, _LEGACY_CRC_AT)


def _inner(message: RecordBatch, value: bytes, redact: Redact) -> bytes:
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
        shown = _legacy(inner, redact, may_nest=False) if is_legacy else FILLER * inner.size
        parts += [FILLER * (inner.start - at), shown]
        at = inner.end
    parts.append(FILLER * (len(content) - at))
    joined = b"".join(parts)
    if joined == content:
        return value
    made = compress(message.codec, joined, value, message.magic)
    return FILLER * len(value) if made is None else made


def _closed(batch: RecordBatch, head: bytes, content: bytes, crc_from: int, crc_at: int) -> bytes:
    """Return the header and content, with the length and the checksum they need."""
    out = bytearray(head + content)
    out[LENGTH_AT:OVERHEAD] = (len(out) - OVERHEAD).to_bytes(4)
    if batch.crc_is_right:
        crc = crc32c if batch.magic == CURRENT_MAGIC else zlib.crc32
        out[crc_at : crc_at + 4] = crc(bytes(out[crc_from:])).to_bytes(4)
    return bytes(out)


def _redacted(records: bytes, keep_keys: bool, redact: Redact) -> bytes:
    """Return records of magic 2 with keys, values, names and values of headers redacted."""
    out = bytearray(records)
    at, end = 0, len(records)
    while at < end:
        try:
            body, stop = record_bounds(records, at, end)
        except ValueError:
            out[at:] = FILLER * (end - at)
            break
        _redact_record(records, out, body, stop, keep_keys, redact)
        at = stop
    return bytes(out)


def _redact_record(
    records: bytes, out: bytearray, at: int, stop: int, keep_key: bool, redact: Redact
) -> None:
    start = at
    spans: list[Span | None] = []
    try:
        _, at = varint(records, start + 1, stop, MAX_VARLONG)  # attributes, then the timestamp's delta
        _, at = varint(records, at, stop)  # offset delta
        for _ in ("key", "value"):
            at = _add_span(records, spans, at, stop)
        count, at = varint(records, at, stop)
        for _ in range(2 * count):
            at = _add_span(records, spans, at, stop)
    except ValueError:
        out[start:stop] = FILLER * (stop - start)
        return
    parts = redact([None if span is None else records[span[0] : span[1]] for span in spans])
    for number, (span, part) in enumerate(zip(spans, parts, strict=True)):
        if span is not None and part is not None and not (keep_key and number == 0):
            out[span[0] : span[1]] = part
    out[at:stop] = FILLER * (stop - at)


def _add_span(records: bytes, spans: list[Span | None], at: int, stop: int) -> int:
    length, begin = varint(records, at, stop)
    end = begin + max(length, 0)
    if length < -1 or end > stop:
        raise ValueError
    spans.append(None if length < 0 else (begin, end))
    return end
