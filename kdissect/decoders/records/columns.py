"""The records of many batches as columns of numbers: places and lengths in one buffer, nothing copied."""

import numpy as np

from kdissect.decoders.records.lockstep import Flags, Ints, Octets, RecordWalk, pull_varints, walk_records

# A record with more headers is left to the reader, one after the other: each header is a step of its own
# here.
MAX_HEADERS = 64


class Spans:
    """Nullable bytes: where they start in the buffer, and their lengths, -1 for null."""

    __slots__ = ("length", "start")

    def __init__(self, start: Ints, length: Ints) -> None:
        self.start = start
        self.length = length


class RecordColumns:
    """One row a record, batches in their order: `batch` is the index of the batch.

    `header_count` says how many of the rows of `header_key` and `header_value` belong to each record. `ok`
    tells for each batch whether all of it fits; batches that do not have no rows.
    """

    __slots__ = (
        "attributes", "batch", "header_count", "header_key", "header_value", "key", "offset_delta", "ok",
        "timestamp_delta", "value",
    )  # fmt: skip

    batch: Ints
    attributes: Octets
    timestamp_delta: Ints
    offset_delta: Ints
    key: Spans
    value: Spans
    header_count: Ints
    header_key: Spans
    header_value: Spans
    ok: Flags


def record_columns(data: bytes, starts: Ints, ends: Ints, counts: Ints) -> RecordColumns:
    """The records in `data[starts[i]:ends[i]]`, `counts[i]` of them, of magic 2 and not compressed.

    `data` must be `lockstep.padded`. Raises nothing.
    """
    walk = walk_records(data, starts, ends, counts)
    buffer = np.frombuffer(data, np.uint8)
    columns, fits = _decode(buffer, walk)
    if not fits.all():
        # Few batches are broken: without them everything fits.
        walk.ok[walk.batch[~fits]] = False
        kept = walk.ok[walk.batch]
        walk = RecordWalk(walk.batch[kept], walk.start[kept], walk.stop[kept], walk.ok)
        columns, fits = _decode(buffer, walk)
    columns.ok = walk.ok
    return columns


def _decode(buffer: Octets, walk: RecordWalk) -> tuple[RecordColumns, Flags]:
    """The columns, and which records fit; values of those that do not mean nothing."""
    pull = _Puller(buffer, walk.start + 1, walk.stop, walk.start < walk.stop)
    columns = RecordColumns()
    columns.batch = walk.batch
    columns.attributes = buffer[walk.start]
    columns.timestamp_delta = pull.number(10)
    columns.offset_delta = pull.number()
    columns.key = pull.span()
    columns.value = pull.span()
    count = pull.number()
    pull.check((count >= 0) & (count <= MAX_HEADERS))
    columns.header_count = np.where(pull.fits, count, 0)
    columns.header_key, columns.header_value = _headers(pull, columns.header_count)
    pull.check(pull.at == walk.stop)
    return columns, pull.fits


class _Puller:
    """A cursor in every record; one that does not fit any more stays where it is harmless."""

    def __init__(self, buffer: Octets, at: Ints, stop: Ints, fits: Flags) -> None:
        self._buffer = buffer
        self._stop = stop
        self.at = at
        self.fits = fits

    def check(self, good: Flags) -> None:
        self.fits &= good
        if not good.all():
            self.at = np.where(self.fits, self.at, 0)

    def number(self, most: int = 5) -> Ints:
        values, ends, fits = pull_varints(self._buffer, self.at, most)
        self.at = ends
        self.check(fits & (ends <= self._stop))
        return values

    def span(self) -> Spans:
        length = self.number()
        start = self.at
        self.at = start + np.maximum(length, 0)
        self.check((length >= -1) & (self.at <= self._stop))
        return Spans(start, np.where(self.fits, length, -1))

    def part(self, rows: Ints) -> "_Puller":
        """The cursors of some records."""
        return _Puller(self._buffer, self.at[rows], self._stop[rows], self.fits[rows])


def _headers(pull: _Puller, counts: Ints) -> tuple[Spans, Spans]:
    """Keys and values of all headers, those of a record one behind the other."""
    total = int(counts.sum())
    first = np.cumsum(counts) - counts
    numbers = [np.zeros(total, np.int64) for _ in range(4)]
    rows = np.flatnonzero(counts)
    step = 0
    while len(rows):
        part = pull.part(rows)
        key, value = part.span(), part.span()
        part.check(key.length >= 0)
        places = first[rows] + step
        for target, source in zip(numbers, (key.start, key.length, value.start, value.length), strict=True):
            target[places] = source
        pull.at[rows] = part.at
        pull.fits[rows] = part.fits
        step += 1
        rows = rows[counts[rows] > step]
    return Spans(numbers[0], numbers[1]), Spans(numbers[2], numbers[3])
