"""Cuts a records field into batches and reads their headers.

Rules:
- Batches stand one behind the other without a count. `batchLength` says where the next one begins.
- A batch with a wrong length costs only itself: the reader looks for the next bytes that are a batch by their
  checksum (`search`).
- A Fetch response may end in a cut batch (spec/001 "Reads"). Elsewhere that is a fault.
"""

import zlib
from collections.abc import Generator
from typing import NamedTuple

from kdissect.decoders.records.batch_layout import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    HEADER_V0,
    HEADER_V1,
    HEADER_V2,
    LENGTH_AT,
    MAGIC_AT,
    MIN_SIZE,
    OVERHEAD,
)
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.search import Effort, find_batch
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import CODEC_MASK, RecordBatch, RecordFault, note
from kdissect.model.wording import plural

_new = tuple.__new__  # saves the call of a NamedTuple's own constructor
_blank = object.__new__


class BatchList(NamedTuple):
    """The batches of a records field. `faults` belong to bytes that are not a batch, with `batches[n]` in
    their path; each batch has its own faults. `cut` counts the bytes of a last, incomplete batch.
    """

    batches: list[RecordBatch]
    faults: list[RecordFault]
    cut: int


def split_batches(data: bytes, start: int, end: int, *, may_be_cut: bool = False) -> BatchList:
    """Return the batches in `data[start:end]`, headers read and checksums computed. Raises nothing.

    `may_be_cut`: bytes of an incomplete batch at the end are no fault (Fetch).
    """
    if start >= end:
        return BatchList([], [], 0)
    only = _only_batch(data, start, end)
    if only is not None:
        return _new(BatchList, ([only], [], 0))
    faults: list[RecordFault] = []
    batches: list[RecordBatch] = []
    found = iter_batches(data, start, end, faults, may_be_cut=may_be_cut)
    while True:
        try:
            batches.append(next(found))
        except StopIteration as over:
            return BatchList(batches, faults, over.value)


def _only_batch(data: bytes, start: int, end: int) -> RecordBatch | None:
    """Return the batch, if the bytes are one of magic 2 by its length: nearly all records fields are."""
    if end - start < HEADER_V2.size:
        return None
    header = HEADER_V2.unpack_from(data, start)
    if header[3] != CURRENT_MAGIC or header[1] != end - start - OVERHEAD:
        return None
    return batch_of(data, start, end, header, _checksum(data, start, end))


def iter_batches(
    data: bytes, start: int, end: int, faults: list[RecordFault], *, may_be_cut: bool = False, first: int = 0
) -> Generator[RecordBatch, None, int]:
    """Yield the batches one after the other. The generator's value is the number of bytes cut. Raises
    nothing.

    `first` is the number of the first one, for faults.
    """
    at = start
    count = first
    effort = Effort()
    while at < end:
        fault = batch_fault(data, at, end)
        if fault is None:
            batch = read_batch(data, at)
            at = _behind(batch, end, effort)
            yield batch
            count += 1
            continue
        found = _next_batch(data, at, end, may_be_cut and fault.kind is AnomalyKind.CUT_BATCH, effort)
        if found is None and fault.kind is AnomalyKind.CUT_BATCH:
            if not may_be_cut:
                note(faults, fault._replace(path=f"batches[{count}].{fault.path}".rstrip(".")))
            return end - at
        note(faults, _named(fault, count, found, end))
        at = end if found is None else found
    return 0


def _next_batch(data: bytes, at: int, end: int, is_legal_cut: bool, effort: Effort) -> int | None:
    """Return the offset of the next batch behind bytes that are none.

    A Fetch response nearly always just ends in a cut batch, and the old formats, made of zeros and ones, are
    slow to search.
    """
    if not is_legal_cut:
        return find_batch(data, at + 1, end, effort=effort)
    if end - at <= MIN_SIZE[CURRENT_MAGIC] or data[at + MAGIC_AT] != CURRENT_MAGIC:
        return None
    return find_batch(data, at + 1, end, (CURRENT_MAGIC,), effort)


def _behind(batch: RecordBatch, end: int, effort: Effort) -> int:
    """Return where the next batch begins: at this one's end, unless its checksum shows that it swallowed
    another one.
    """
    if batch.crc_is_right or batch.end == end or batch_fault(batch.data, batch.end, end) is None:
        return batch.end
    found = find_batch(batch.data, batch.start + MIN_SIZE[batch.magic], end, effort=effort)
    if found is None or found >= batch.end:
        return batch.end
    why = f"length {batch.size - OVERHEAD} reaches over the batch at byte {found}"
    note(batch.faults, RecordFault(AnomalyKind.BAD_BATCH_LENGTH, "length", batch.start + LENGTH_AT, why))
    return found


def _named(fault: RecordFault, index: int, found: int | None, end: int) -> RecordFault:
    skipped = (end if found is None else found) - (fault.offset - _place_of(fault))
    kind = AnomalyKind.BAD_BATCH_LENGTH if fault.kind is AnomalyKind.CUT_BATCH else fault.kind
    return RecordFault(
        kind,
        f"batches[{index}].{fault.path}".rstrip("."),
        fault.offset,
        f"{fault.why}; {plural(skipped, 'byte')} skipped",
    )


def _place_of(fault: RecordFault) -> int:
    return {"length": LENGTH_AT, "magic": MAGIC_AT}.get(fault.path, 0)


def batch_fault(data: bytes, at: int, end: int) -> RecordFault | None:
    """Return why the bytes from `at` on cannot be a whole batch; None if they can."""
    left = end - at
    if left <= MAGIC_AT:
        return RecordFault(AnomalyKind.CUT_BATCH, "", at, f"{plural(left, 'byte is', 'bytes are')} no batch")
    length = int.from_bytes(data[at + LENGTH_AT : at + OVERHEAD], signed=True)
    magic = data[at + MAGIC_AT]
    if magic > CURRENT_MAGIC:
        return RecordFault(AnomalyKind.UNKNOWN_MAGIC, "magic", at + MAGIC_AT, f"there is no magic {magic}")
    if length < MIN_SIZE[magic] - OVERHEAD:
        why = f"length {length} is too short for a batch of magic {magic}"
        return RecordFault(AnomalyKind.BAD_BATCH_LENGTH, "length", at + LENGTH_AT, why)
    if length > left - OVERHEAD:
        why = f"length {length}, only {plural(left - OVERHEAD, 'byte follows', 'bytes follow')}"
        return RecordFault(AnomalyKind.CUT_BATCH, "length", at + LENGTH_AT, why)
    return None


def read_batch(data: bytes, at: int) -> RecordBatch:
    """Return the batch at `at`, which has no `batch_fault`."""
    return _read_v2(data, at) if data[at + MAGIC_AT] == CURRENT_MAGIC else _read_legacy(data, at)


def _read_v2(data: bytes, at: int) -> RecordBatch:
    header = HEADER_V2.unpack_from(data, at)
    end = at + OVERHEAD + header[1]
    return batch_of(data, at, end, header, _checksum(data, at, end))


def _checksum(data: bytes, at: int, end: int) -> int:
    return crc32c(memoryview(data)[at + ATTRIBUTES_AT : end])


def batch_of(data: bytes, at: int, end: int, header: tuple[int, ...], computed: int) -> RecordBatch:
    """Return the batch of magic 2 in `data[at:end]`, whose header and checksum are known."""
    # Hot, once a batch: every slot is filled here, once.
    batch = _blank(RecordBatch)
    batch.data = data
    batch.start = at
    batch.end = end
    (
        batch.base_offset, _, batch.leader_epoch, batch.magic, crc, batch.attributes,
        batch.last_offset_delta, batch.base_timestamp, batch.max_timestamp, batch.producer_id,
        batch.producer_epoch, batch.base_sequence, batch.count,
    ) = header  # fmt: skip
    batch.records_start = at + HEADER_V2.size
    batch.crc = crc
    batch.computed_crc = computed
    batch.faults = []
    if crc != computed:
        _note_crc(batch, MAGIC_AT + 1)
    return batch


def _read_legacy(data: bytes, at: int) -> RecordBatch:
    magic = data[at + MAGIC_AT]
    header = HEADER_V1 if magic else HEADER_V0
    values = header.unpack_from(data, at)
    batch = RecordBatch(data, at, at + OVERHEAD + values[1], magic)
    batch.base_offset, _, batch.crc, _, batch.attributes = values[:5]
    batch.records_start = at + header.size
    if magic:
        batch.base_timestamp = batch.max_timestamp = values[5]
    batch.count = None if batch.attributes & CODEC_MASK else 1
    # spec/001 "5.3.3 Old Message Format": CRC-32, from the magic byte on.
    batch.computed_crc = zlib.crc32(memoryview(data)[at + MAGIC_AT : batch.end])
    if not batch.crc_is_right:
        _note_crc(batch, OVERHEAD)
    return batch


def _note_crc(batch: RecordBatch, place: int) -> None:
    why = f"says {batch.crc:#010x}, the bytes give {batch.computed_crc:#010x}"
    note(batch.faults, RecordFault(AnomalyKind.BAD_CRC, "crc", batch.start + place, why))


def first_size(records: bytes) -> int | None:
    """Return bytes that the first batch says that it has; None if they hold less than its first fields."""
    if len(records) <= MAGIC_AT:
        return None
    return int.from_bytes(records[LENGTH_AT : LENGTH_AT + 4], "big", signed=True) + OVERHEAD  # spec/001 5.3.1
