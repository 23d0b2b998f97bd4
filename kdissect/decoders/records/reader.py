"""The records of a batch, one after the other, whatever its format."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kdissect.decoders.compression.codec import codec_name, decompress
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.decoders.records.message_set import iter_messages
from kdissect.decoders.records.records_v2 import iter_records_v2
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import BrokenFrameError, DecodeError, OutputLimitError
from kdissect.model.limits import in_force
from kdissect.model.native import is_compiled, native
from kdissect.model.record_batch import CODEC_NAMES, Record, RecordBatch, RecordFault, note
from kdissect.model.run_budget import note_met, run_budget

# Larger batches are not listed: 19 million records of 7 bytes fit the decompression limit of a batch. By
# default a producer sends 16 KB (batch.size) and a broker accepts 1 MiB (message.max.bytes).
LISTED_BYTES = 1 << 20
LISTED_RECORDS = 20_000


class RecordList(NamedTuple):
    """The readable records of a batch, and the faults of its other records."""

    records: list[Record]
    faults: list[RecordFault]


def read_records(batch: RecordBatch, limit: int | None = None, most: int | None = None) -> RecordList:
    """Return the first `most` records of a batch. Bounds that are None are the process's.

    Raises nothing; `faults` do not repeat the batch's own faults.
    """
    faults: list[RecordFault] = []
    records: list[Record] = []
    most = in_force().batch_records if most is None else most
    if is_compiled and batch.magic == CURRENT_MAGIC and not batch.codec and most >= LISTED_RECORDS:
        content = batch.data, batch.records_start, batch.end
        listed = _listed(batch, *content)
        if listed is not None:
            return RecordList(listed, faults)
        found = iter_records_v2(batch, *content, faults, inside=False)
    else:
        found = iter_records(batch, faults, limit)
    for record in found:
        if len(records) == most:
            why = f"more than {most} records, further records are left out"
            note(faults, RecordFault(AnomalyKind.DECOMPRESSION_LIMIT, "records", batch.records_start, why))
            break
        records.append(record)
    return RecordList(records, faults)


def iter_records(batch: RecordBatch, faults: list[RecordFault], limit: int | None = None) -> Iterator[Record]:
    """Return the records of a batch as they are read, and add faults to `faults`. Raises nothing.

    A record that does not fit is left out, and later records are read as far as its length leads to them.
    Takes at most about `limit` bytes of memory (one batch decompressed; None: `Limits.batch_bytes`).
    """
    found = _records(batch, faults, limit)
    return _counted(found, batch, faults) if batch.codec else found


def _counted(records: Iterable[Record], batch: RecordBatch, faults: list[RecordFault]) -> Iterator[Record]:
    """Yield the records that the run's budget still allows of a compressed batch (`model.run_budget`)."""
    budget = run_budget()
    size = batch.end - batch.start
    most, count = budget.records_of(size), 0
    try:
        for record in records:
            if count == most:
                note_met("run_records")
                why = f"the first {most}; with those read before that is all of run_records"
                note(
                    faults, RecordFault(AnomalyKind.DECOMPRESSION_LIMIT, "records", batch.records_start, why)
                )
                return
            count += 1
            yield record
    finally:
        budget.spend_records(size, count)


def _records(batch: RecordBatch, faults: list[RecordFault], limit: int | None) -> Iterator[Record]:
    if batch.magic != CURRENT_MAGIC:
        yield from iter_messages(batch, faults, limit)
        return
    content = _content(batch, faults, limit)
    if content is not None:
        listed = _listed(batch, *content) if is_compiled else None
        if listed is None:
            yield from iter_records_v2(batch, *content, faults, inside=batch.codec > 0)
        else:
            yield from listed


def _listed(batch: RecordBatch, data: bytes, start: int, end: int) -> list[Record] | None:
    """Return the records in `data[start:end]`, compiled; None where one does not fit, or there are many."""
    if end - start > LISTED_BYTES or batch.count is None or batch.count > LISTED_RECORDS:
        return None
    base = batch.base_offset, batch.base_timestamp
    append_time = batch.max_timestamp if batch.is_log_append_time else None
    return native.record_objects(Record, tuple.__new__, data, start, end, batch.count, base, append_time)


def _content(
    batch: RecordBatch, faults: list[RecordFault], limit: int | None = None
) -> tuple[bytes, int, int] | None:
    """Return where the records of a magic 2 batch are: bytes, start, end.

    Return None, and note a fault, if they cannot be read.
    """
    if not batch.codec:
        return batch.data, batch.records_start, batch.end
    content = decompressed(batch, faults, limit)
    return None if content is None else (content, 0, len(content))


def decompressed(batch: RecordBatch, faults: list[RecordFault], limit: int | None = None) -> bytes | None:
    """Return the decompressed records of a magic 2 batch; None, and a fault, if that fails."""
    if batch.codec >= len(CODEC_NAMES):
        why = f"there is no codec {batch.codec}"
        note(faults, RecordFault(AnomalyKind.UNKNOWN_CODEC, "attributes", batch.start + 21, why))
        return None
    if batch.count == 0 and batch.records_start == batch.end:
        return b""  # all its records were compacted away (spec/001 "5.3.1 Record Batch")
    try:
        return decompress(batch.codec, memoryview(batch.data)[batch.records_start : batch.end], limit)
    except DecodeError as error:
        note(faults, compression_fault(batch.codec, error, "records", batch.records_start))
        return error.content if isinstance(error, BrokenFrameError) else None


def compression_fault(codec: int, error: DecodeError, path: str, start: int) -> RecordFault:
    """Return the fault of bytes from `start` on that do not decompress."""
    limited = isinstance(error, OutputLimitError)
    kind = AnomalyKind.DECOMPRESSION_LIMIT if limited else AnomalyKind.CORRUPT_COMPRESSION
    return RecordFault(kind, path, start + error.offset, f"{codec_name(codec)}: {error.why}")
