"""Batches whose records were appended before, byte by byte, and who read them."""

from __future__ import annotations

from kdissect.history.fact import Evidence
from kdissect.history.state_table import Table
from kdissect.model.digest import blake2b
from kdissect.model.record_batch import CODEC_MASK, NO_PRODUCER_ID, RecordBatch
from kdissect.stats.by_offset.held_offsets import Place

BATCHES_KEPT = 100_000  # the most recent ones in all partitions, 400 bytes each
READ_KEPT = 20  # clients named that read both
PRODUCERS_KEPT = 5_000  # with an open transaction
OPEN_KEPT = 1_000  # batches of a transaction that are marked when it ends


class Written:
    """A batch that was appended, with its producer and its position. `read_by` are clients that fetched it.

    `is_aborted`: its transaction was seen to be aborted, so that its records count as not written.
    """

    __slots__ = (
        "client_id", "count", "epoch", "evidence", "is_aborted", "offset", "place", "producer_id", "read_by",
        "sequence",
    )  # fmt: skip

    def __init__(
        self, place: Place, offset: int, batch: RecordBatch, client_id: str | None, evidence: Evidence
    ) -> None:
        self.place = place
        self.offset = offset
        self.count = batch.count or 0
        self.producer_id = batch.producer_id
        self.epoch = batch.producer_epoch
        self.sequence = batch.base_sequence
        self.client_id = client_id
        self.evidence = evidence
        self.is_aborted = False
        self.read_by: dict[str, None] = {}


class Twice:
    """A batch with the records of an earlier one."""

    __slots__ = ("again", "first")

    def __init__(self, first: Written, again: Written) -> None:
        self.first = first
        self.again = again

    @property
    def counts(self) -> bool:
        """Whether both are there: a transaction that is tried again after an abort writes once."""
        return not (self.first.is_aborted or self.again.is_aborted)

    @property
    def differs(self) -> str:
        """Return the property by which the broker could not recognize the repetition."""
        first, again = self.first, self.again
        if NO_PRODUCER_ID in (first.producer_id, again.producer_id):
            return "no producer id"
        if first.producer_id != again.producer_id:
            return "another producer id"
        return "another epoch" if first.epoch != again.epoch else "another sequence"

    @property
    def read_by(self) -> list[str]:
        """The clients that fetched both."""
        return [name for name in self.again.read_by if name in self.first.read_by]


class WrittenTwice:
    """Batches by what is in them."""

    def __init__(self) -> None:
        self._by_content: Table[tuple[Place, bytes], Written] = Table(BATCHES_KEPT)
        self._by_offset: Table[tuple[Place, int], Written] = Table(BATCHES_KEPT)
        self._open: Table[tuple[str, int], list[Written]] = Table(PRODUCERS_KEPT)
        """Batches of open transactions, by capture set and producer id."""

    def written(
        self, place: Place, offset: int, batch: RecordBatch, client_id: str | None, evidence: Evidence
    ) -> Twice | None:
        """Take a batch that a broker appended. Return it with an earlier one that has equal records."""
        digest = blake2b(digest_size=16)
        marks = batch.attributes & CODEC_MASK, batch.base_timestamp, batch.max_timestamp, batch.count
        digest.update(repr(marks).encode())
        digest.update(batch.data[batch.records_start : batch.end])
        key = place, digest.digest()
        now = Written(place, offset, batch, client_id, evidence)
        first = self._by_content.get(key)
        if first is not None and first.offset == offset:
            return None  # the broker knew it: the same answer once more
        self._by_offset.put((place, offset), now)
        if batch.is_transactional:
            under_way = self._open.get_or((place[0], batch.producer_id), list)
            if len(under_way) < OPEN_KEPT:
                under_way.append(now)
        if first is None or first.is_aborted:
            self._by_content.put(key, now)
            return None
        return Twice(first, now)

    def end(self, capture_set: str, producer_id: int, committed: bool) -> None:
        """End a transaction of a producer."""
        for written in self._open.pop((capture_set, producer_id)) or ():
            written.is_aborted = not committed

    def read(self, place: Place, offset: int, client_id: str | None) -> None:
        """Note a client that fetched the batch at an offset."""
        found = self._by_offset.peek((place, offset))
        if found is not None and client_id is not None and len(found.read_by) < READ_KEPT:
            found.read_by[client_id] = None
