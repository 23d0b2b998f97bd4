"""Fields of the record batches in an exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kdissect.model.record_batch import CODEC_NAMES, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP, RecordBatch
from kdissect.query.binding import Binding
from kdissect.query.fields.field_sources import Cost, Many, RowSource
from kdissect.query.fields.named import Choice
from kdissect.query.values.points_in_time import TIME_MS
from kdissect.query.values.units import SIZE
from kdissect.query.values.value_kinds import FLAG, NUMBER, STRUCTURE, ValueKind

_CODEC = Choice(dict(enumerate(CODEC_NAMES)), False, True)
_Get = Callable[[RecordBatch], Any]

# Names and meanings are those of the rows of `kdissect segments`.
_FIELDS: tuple[tuple[str, ValueKind, str, _Get], ...] = (
    (
        "",
        STRUCTURE,
        "the record batches in request (Produce) or response (Fetch ...)",
        lambda b: b,
    ),
    (".bytes", SIZE, "size of a batch with its offset and length", lambda b: b.size),
    (".base_offset", NUMBER, "offset of a batch's first record", lambda b: b.base_offset),
    (".count", NUMBER, "records that a batch says it has", lambda b: b.count),
    (".magic", NUMBER, "format of a batch: 0, 1 or 2", lambda b: b.magic),
    (".codec", _CODEC, "compression of a batch: `none`, `gzip`, `snappy`, `lz4`, `zstd`", lambda b: b.codec),
    (
        ".max_timestamp_ms",
        TIME_MS,
        "largest timestamp in a batch; null for none",
        lambda b: None if b.max_timestamp == NO_TIMESTAMP else b.max_timestamp,
    ),
    (
        ".producer_id",
        NUMBER,
        "id of an idempotent producer; null without one",
        lambda b: None if b.producer_id == NO_PRODUCER_ID else b.producer_id,
    ),
    (
        ".producer_epoch",
        NUMBER,
        "its epoch",
        lambda b: None if b.producer_id == NO_PRODUCER_ID else b.producer_epoch,
    ),
    (
        ".base_sequence",
        NUMBER,
        "sequence number of a batch's first record; null without one",
        lambda b: None if b.base_sequence == NO_SEQUENCE else b.base_sequence,
    ),
    (".transactional", FLAG, "whether a batch belongs to a transaction", lambda b: b.is_transactional),
    (".control", FLAG, "whether a batch holds control records", lambda b: b.is_control),
    (".crc_ok", FLAG, "whether the checksum of a batch is right", lambda b: b.crc_is_right),
)


def batch_fields() -> Sequence[tuple[RowSource, str]]:
    """Each field with its documentation."""
    return [
        (RowSource(f"batch{name}", kind, _getter(get), is_many=True, cost=Cost.WHOLE_BODY), doc)
        for name, kind, doc, get in _FIELDS
    ]


def _getter(get: _Get) -> Callable[[Binding], Many]:
    def make(binding: Binding) -> Many:
        batches = binding.batches
        return lambda exchange: [get(batch) for batch in batches(exchange)]

    return make
