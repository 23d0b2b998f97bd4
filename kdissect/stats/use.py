"""What one client does with one topic: how much it writes or reads."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from kdissect.engine.records.acquired import Acquired
from kdissect.model.record_batch import RecordBatch


class Role(StrEnum):
    """What a client uses a topic for."""

    WRITE = "write"
    READ = "read"
    SHARE = "share"  # read by a share group (KIP-932)
    FOLLOW = "follow"  # read by a broker that replicates it


class Use:
    """Counts of one client, role and topic.

    `requests` counts Produce or Fetch requests that name the topic. `records` are those of batches that the
    broker took, or gave; `unconfirmed` those of them nobody confirmed (acks=0, no answer captured), `refused`
    those of batches it did not take. Compressed messages of magic 0 and 1 do not say how many records they
    hold: `uncounted` counts these messages unless records are read. Markers of transactions are no records.
    What is shared carries more than it gives: `acquired` counts the records the member acquired,
    `acquired_unknown` those of answers that were captured without saying so.
    """

    __slots__ = (
        "acquired", "acquired_unknown", "batches", "bytes", "errors", "records", "refused", "requests",
        "unconfirmed", "uncounted",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = self.batches = self.records = self.bytes = 0
        self.unconfirmed = self.refused = self.uncounted = 0
        self.acquired = self.acquired_unknown = 0
        self.errors: Counter[str] = Counter()

    def add(self, batch: RecordBatch, records: int | None, confirmed: bool) -> None:
        """Count a batch; `records` is None where nobody counted them."""
        self.batches += 1
        self.bytes += batch.size
        if records is None:
            self.uncounted += 1
            return
        self.records += records
        if not confirmed:
            self.unconfirmed += records

    def share(self, batch: RecordBatch, acquired: Acquired, records: int | None) -> None:
        """Count what was acquired of a batch that was added."""
        if batch.is_control:
            return
        found = acquired.count(batch)
        self.acquired += found
        if not acquired.is_whole:
            self.acquired_unknown += max((records or 0) - found, 0)

    def merge(self, other: Use) -> None:
        """Count everything of another use."""
        for name in self.__slots__:
            if name != "errors":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        self.errors.update(other.errors)
