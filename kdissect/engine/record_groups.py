"""Many records fields decoded together: what fits goes by columns, the others are told apart.

Needs numpy (extra `arrow`).
"""

from collections.abc import Sequence

import numpy as np

from kdissect.decoders.compression.codec import decompress
from kdissect.decoders.records.batch_columns import BatchColumns, batch_columns, checksums_are_right
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.columns import RecordColumns, record_columns
from kdissect.decoders.records.layout import HEADER_V2
from kdissect.decoders.records.lockstep import Flags, Ints, padded
from kdissect.engine.record_sets import RecordSet
from kdissect.model.errors import DecodeError
from kdissect.model.record_batch import CODEC_MASK, CODEC_NAMES, CONTROL
from kdissect.schema.logs import log

# Bytes of records taken together: numpy's cost for a step is spread over enough batches, and memory stays
# flat.
GROUP_BYTES = 8 << 20
# What a group may decompress to; a field that alone passes it is decoded record by record, streaming.
GROUP_OUTPUT = 48 << 20


class RecordGroup:
    """Records fields decoded together.

    `fits[i]` tells whether all of field i is in `columns`; the others have no rows there: control records,
    own topics, old formats, and everything that does not fit.
    """

    __slots__ = ("batches", "columns", "data", "fits")

    def __init__(self, data: bytes, batches: BatchColumns, columns: RecordColumns, fits: Flags) -> None:
        self.data = data
        self.batches = batches
        self.columns = columns
        self.fits = fits


def decode_group(sets: Sequence[RecordSet], topics: Sequence[str | None]) -> tuple[RecordGroup, int]:
    """The first of `sets` decoded together, and how many of them that are (at least one). Raises nothing."""
    data, starts, ends = _joined(sets)
    batches = batch_columns(data, starts, ends)
    fits = np.array([topic is None or log(topic) is None for topic in topics], np.bool_)
    _check_rests(data, sets, ends, batches, fits)
    attributes = batches.header["attributes"].astype(np.int64)
    codecs = attributes & CODEC_MASK
    good = checksums_are_right(data, batches) & (codecs < len(CODEC_NAMES)) & (attributes & CONTROL == 0)
    _exclude(fits, batches, good)
    taken = len(sets)
    record_starts, record_ends = batches.start + HEADER_V2.size, batches.end
    if codecs[fits[batches.section]].any():
        data, record_starts, record_ends, taken = _decompressed(data, batches, codecs, fits)
    in_group = batches.section < taken
    wanted = np.flatnonzero(in_group & fits[batches.section])
    counts = batches.header["count"].astype(np.int64)
    columns = record_columns(data, record_starts[wanted], record_ends[wanted], counts[wanted])
    if not columns.ok.all():
        fits[batches.section[wanted[~columns.ok]]] = False
    columns.batch = wanted[columns.batch]
    return RecordGroup(data, batches, columns, fits[:taken]), taken


def _joined(sets: Sequence[RecordSet]) -> tuple[bytes, Ints, Ints]:
    parts = [memoryview(records.frame.data)[records.section.start : records.end] for records in sets]
    sizes = np.array([len(part) for part in parts], np.int64)
    ends = np.cumsum(sizes)
    return padded(parts), ends - sizes, ends


def _check_rests(
    data: bytes, sets: Sequence[RecordSet], ends: Ints, batches: BatchColumns, fits: Flags
) -> None:
    """Bytes behind the batches of a field fit only if they are the beginning of a batch that may be cut."""
    for index in np.flatnonzero(batches.rest < ends).tolist():
        records = sets[index]
        found = split_batches(data, int(batches.rest[index]), int(ends[index]), may_be_cut=records.may_be_cut)
        if found.batches or found.faults:
            fits[index] = False
    for index, records in enumerate(sets):
        if records.section.position:
            fits[index] = False


def _exclude(fits: Flags, batches: BatchColumns, good: Flags) -> None:
    fits[batches.section[~good]] = False


def _decompressed(
    data: bytes, batches: BatchColumns, codecs: Ints, fits: Flags
) -> tuple[bytes, Ints, Ints, int]:
    """The records of all batches that fit in one buffer, their places, and how many fields that are."""
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    starts, ends = np.zeros(len(codecs), np.int64), np.zeros(len(codecs), np.int64)
    total = first = 0
    current = -1
    rows = zip(
        batches.section.tolist(), batches.start.tolist(), batches.end.tolist(), codecs.tolist(), strict=True
    )
    for index, (section, start, end, codec) in enumerate(rows):
        if section != current:
            current, first = section, total
        if not fits[section]:
            continue
        part = _content(view[start + HEADER_V2.size : end], codec)
        if part is None or total + len(part) - first > GROUP_OUTPUT:
            fits[section] = False
            continue
        if total + len(part) > GROUP_OUTPUT:
            return padded(parts), starts, ends, section
        parts.append(part)
        starts[index] = total
        total += len(part)
        ends[index] = total
    return padded(parts), starts, ends, len(fits)


def _content(part: memoryview, codec: int) -> bytes | memoryview | None:
    if not codec or not len(part):
        return part
    try:
        return decompress(codec, part)
    except DecodeError:
        return None
