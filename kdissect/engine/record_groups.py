"""Many records fields decoded together: what fits goes by columns, the others are told apart.

Needs numpy (extra `arrow`).
"""

from collections.abc import Iterator

import numpy as np

from kdissect.decoders.compression.codec import decompress_usual, usual_growth
from kdissect.decoders.records.batch_columns import BatchColumns, batch_columns, checksums_are_right
from kdissect.decoders.records.batch_layout import HEADER_V2
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.columns import RecordColumns, record_columns
from kdissect.decoders.records.lockstep import Flags, Ints, padded
from kdissect.engine.field_columns import FieldColumns
from kdissect.engine.records.acquired import SHARE_FETCH
from kdissect.model.errors import DecodeError
from kdissect.model.record_batch import CODEC_MASK, CODEC_NAMES, CONTROL
from kdissect.schema.logs import log

# What a group may decompress to; a field that alone passes it is decoded record by record, streaming.
GROUP_OUTPUT = 48 << 20


class RecordGroup:
    """The fields from number `first` to before `stop`, decoded together.

    `fits[i]` tells whether all of field i is in `columns`; the others have no rows there, or such that do not
    count: control records, own topics, old formats, and everything that does not fit. `batches` and `fits`
    are those of all fields, `data` is what `columns` refers to.
    """

    __slots__ = ("batches", "columns", "data", "first", "fits", "stop")

    def __init__(
        self, data: bytes, batches: BatchColumns, columns: RecordColumns, fits: Flags, first: int, stop: int
    ) -> None:
        self.data = data
        self.batches = batches
        self.columns = columns
        self.fits = fits
        self.first = first
        self.stop = stop


def decode_groups(fields: FieldColumns) -> Iterator[RecordGroup]:
    """All fields decoded, in as many groups as it takes. Raises nothing."""
    batches = batch_columns(fields.data, fields.start, fields.end)
    own = {topic for topic in set(fields.topics) if topic is not None and log(topic) is not None}
    fits = np.ones(len(fields.start), np.bool_)
    if own:
        fits &= np.array([topic not in own for topic in fields.topics], np.bool_)
    _check_rests(fields, batches, fits)
    attributes = batches.header["attributes"].astype(np.int64)
    codecs = attributes & CODEC_MASK
    good = (codecs < len(CODEC_NAMES)) & (attributes & CONTROL == 0)
    sizes = batches.end - batches.start
    good &= (codecs == 0) | (batches.header["count"] <= usual_growth()[1] * sizes)
    _exclude(fits, batches, good & checksums_are_right(fields.data, batches))
    if not codecs[fits[batches.section]].any():
        starts = batches.start + HEADER_V2.size
        yield _group(fields.data, batches, starts, batches.end, fits, 0, len(fits))
        return
    first = 0
    while first < len(fits):
        data, starts, ends, stop = _decompressed(fields.data, batches, codecs, fits, first)
        yield _group(data, batches, starts, ends, fits, first, stop)
        first = stop


def _group(
    data: bytes, batches: BatchColumns, starts: Ints, ends: Ints, fits: Flags, first: int, stop: int
) -> RecordGroup:
    """The records of the batches in `data[starts[i]:ends[i]]` that belong to the fields of the group."""
    section = batches.section
    wanted = np.flatnonzero((section >= first) & (section < stop) & fits[section])
    counts = batches.header["count"].astype(np.int64)
    columns = record_columns(data, starts[wanted], ends[wanted], counts[wanted])
    if not columns.ok.all():
        fits[section[wanted[~columns.ok]]] = False
    columns.batch = wanted[columns.batch]
    return RecordGroup(data, batches, columns, fits, first, stop)


def _check_rests(fields: FieldColumns, batches: BatchColumns, fits: Flags) -> None:
    """Bytes behind the batches of a field fit only if they are the beginning of a batch that may be cut."""
    for index in np.flatnonzero(batches.rest < fields.end).tolist():
        may_be_cut = fields.record_set(index).may_be_cut
        rest, end = int(batches.rest[index]), int(fields.end[index])
        found = split_batches(fields.data, rest, end, may_be_cut=may_be_cut)
        if found.batches or found.faults:
            fits[index] = False
    shares = np.array([exchange.api_key == SHARE_FETCH for exchange in fields.exchanges], np.bool_)
    if shares.any():  # of their records the body says which were acquired
        fits &= ~shares[fields.owner]
    if any(fields.positions):  # what stands before a piece of a snapshot is not in `data`
        fits &= np.array([not position for position in fields.positions], np.bool_)


def _exclude(fits: Flags, batches: BatchColumns, good: Flags) -> None:
    fits[batches.section[~good]] = False


def _decompressed(
    data: bytes, batches: BatchColumns, codecs: Ints, fits: Flags, begin: int
) -> tuple[bytes, Ints, Ints, int]:
    """The records of batches that fit in one buffer, their places, and which field comes next."""
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    starts, ends = np.zeros(len(codecs), np.int64), np.zeros(len(codecs), np.int64)
    total = first = 0
    current = -1
    before = int(np.searchsorted(batches.section, begin))
    columns = (batches.section, batches.start, batches.end, codecs)
    rows = zip(*(column[before:].tolist() for column in columns), strict=True)
    for index, (section, start, end, codec) in enumerate(rows, before):
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
        return decompress_usual(codec, part)
    except DecodeError:
        return None
