"""The bytes of a log segment or snapshot to batches, as they come. Sans-IO.

Rules:
- A segment is batches one after the other (spec/001 "5.4 Log" describes an older entry layout that never
  shipped with offsets; Apache Kafka, FileRecords).
- Whole batches only: a cut batch at the end is corruption, of the kind a crash leaves (spec/001
  "Guarantees").
- Zeros up to the end are room that was allocated beforehand (`log.preallocate`), not corruption.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kdissect.decoders.records.batch_layout import LENGTH_AT, OVERHEAD
from kdissect.decoders.records.batches import iter_batches
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import RecordBatch, RecordFault, note

# No batch is larger: brokers refuse requests of more than 100 MiB (socket.request.max.bytes). A larger length
# is corrupt, and waiting for that number of bytes would only use memory.
MAX_BATCH = 128 << 20


class PlacedBatch(NamedTuple):
    """A batch, its 0-based number in the file, and the byte of the file it begins at.

    Faults of the batch count bytes from `base` on.
    """

    number: int
    position: int
    base: int
    batch: RecordBatch


class SegmentReader:
    """`feed()` the file's bytes in order, and `close()` it at its end. Both yield whole batches.

    `faults` collects what stands between batches and is none, with positions in the file.
    """

    def __init__(self) -> None:
        self.faults: list[RecordFault] = []
        self.padding = 0
        """Zeros at the end."""
        self._held = b""
        self._base = 0
        self._count = 0

    def feed(self, data: bytes) -> Iterator[PlacedBatch]:
        """Take the next bytes."""
        self._held += data
        if len(self._held) >= self._wanted():
            yield from self._take(is_end=False)

    def close(self) -> Iterator[PlacedBatch]:
        """End the file."""
        yield from self._take(is_end=True)

    def _wanted(self) -> int:
        """Return the number of bytes that the first buffered batch needs, because joining less again and
        again would be slow.
        """
        length = int.from_bytes(self._held[LENGTH_AT:OVERHEAD])
        return OVERHEAD + length if length <= MAX_BATCH else 0

    def _take(self, is_end: bool) -> Iterator[PlacedBatch]:
        data, base = self._held, self._base
        end = len(data)
        if is_end and not data.strip(b"\0"):
            self.padding, end = self.padding + len(data), 0
        faults: list[RecordFault] = []
        batches = iter_batches(data, 0, end, faults, may_be_cut=not is_end, first=self._count)
        while True:
            try:
                batch = next(batches)
            except StopIteration as over:
                cut = over.value
                break
            yield PlacedBatch(self._count, base + batch.start, base, batch)
            self._count += 1
        self._note(faults, data, end)
        self._held = b"" if is_end else data[end - cut :]
        self._base = base + len(data) - len(self._held)
        if len(self._held) > MAX_BATCH + OVERHEAD:
            why = f"more than {MAX_BATCH} bytes for one batch"
            note(self.faults, RecordFault(AnomalyKind.BAD_BATCH_LENGTH, "length", self._base, why))

    def _note(self, faults: list[RecordFault], data: bytes, end: int) -> None:
        """Note faults, with their position in the file. Zeros up to the end are not a fault."""
        for fault in faults:
            start = fault.offset - (LENGTH_AT if fault.path.endswith("length") else 0)
            if not data[start:end].strip(b"\0"):
                self.padding += end - start
            else:
                note(self.faults, fault._replace(offset=self._base + fault.offset))
