"""Topics of a scripted cluster: leaders, logs in memory, and what idempotent producers wrote."""

from __future__ import annotations

import struct
import time
from collections import deque
from typing import NamedTuple

from kdissect.conform.record_batches import batch, control_batch
from kdissect.decoders.records.batches import split_batches
from kdissect.model.digest import blake2b
from kdissect.model.record_batch import MAX_SEQUENCE, RecordBatch

NODES = (1, 2, 3)
PARTITIONS = 2
CORRUPT_MESSAGE, OUT_OF_RANGE, SEQUENCE_GAP, OLD_EPOCH = 2, 1, 45, 47
_FIRST_RECORDS = 10
_MAX_LOG = 8 << 20  # bytes of a partition. Older batches are deleted, as by retention
_MAX_READ = 1 << 20
_REMEMBERED = 5  # batches of a producer, as in Apache Kafka (KIP-98)
_MAX_TOPICS = 1000


class Batch(NamedTuple):
    """A batch in a log. `end` is the offset after it."""

    base: int
    end: int
    data: bytes


class Stored(NamedTuple):
    """The outcome of a batch."""

    error_code: int
    base_offset: int = -1


class _Written(NamedTuple):
    epoch: int
    first: int
    last: int
    base_offset: int


class Partition:
    """One partition. `start` and `end` are the first offset and the one after the last."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.epoch = 0
        self.start = self.end = 0
        self.aborted: list[tuple[int, int, int]] = []
        """Producer id, first and last offset of aborted transactions."""
        self.open: dict[int, int] = {}
        """First offset of each open transaction, by producer id."""
        self._log: deque[Batch] = deque()
        self._size = 0
        self._written: dict[int, deque[_Written]] = {}

    @property
    def stable_end(self) -> int:
        """The offset that consumers of committed records can read up to."""
        return min([self.end, *self.open.values()])

    def write(self, data: bytes) -> Stored:
        """Append batches of a Produce request, or refuse them."""
        found = split_batches(data, 0, len(data))
        if found.faults or not found.batches or any(not one.crc_is_right for one in found.batches):
            return Stored(CORRUPT_MESSAGE)
        base = -1
        for one in found.batches:
            refused = self._checked(one)
            if refused is not None:
                return refused
            at = self._append(data[one.start : one.end], one.count or 1)
            self._remember(one, at)
            base = at if base < 0 else base
        return Stored(0, base)

    def _checked(self, one: RecordBatch) -> Stored | None:
        """Return the outcome of a batch that is not stored: a gap, an old epoch, a repeated batch."""
        known = self._written.get(one.producer_id)
        if one.producer_id < 0 or known is None:
            return None
        last = known[-1]
        if one.producer_epoch < last.epoch:
            return Stored(OLD_EPOCH)
        if one.producer_epoch > last.epoch:
            return None if one.base_sequence == 0 else Stored(SEQUENCE_GAP)
        for each in known:
            if each.first == one.base_sequence and each.last == one.last_sequence:
                return Stored(0, each.base_offset)
        following = 0 if last.last == MAX_SEQUENCE else last.last + 1
        return None if one.base_sequence == following else Stored(SEQUENCE_GAP)

    def _remember(self, one: RecordBatch, base: int) -> None:
        if one.producer_id < 0:
            return
        known = self._written.setdefault(one.producer_id, deque(maxlen=_REMEMBERED))
        if known and known[-1].epoch != one.producer_epoch:
            known.clear()
        known.append(_Written(one.producer_epoch, one.base_sequence, one.last_sequence, base))
        if one.is_transactional:
            self.open.setdefault(one.producer_id, base)

    def _append(self, data: bytes, count: int) -> int:
        base, magic = self.end, data[16]
        head = struct.pack(">q", base) + data[8:12]
        rest = struct.pack(">i", self.epoch) + data[16:] if magic > 1 else data[12:]
        self.end = base + count
        self._log.append(Batch(base, self.end, head + rest))
        self._size += len(data)
        while self._size > _MAX_LOG and len(self._log) > 1:
            self._size -= len(self._log.popleft().data)
            self.start = self._log[0].base
        return base

    def add_record(self) -> None:
        """Append a record, as another producer would."""
        value = b"kdissect-conform %d" % self.end
        self._append(batch([(b"%d" % self.end, value)], time.time_ns() // 1_000_000), 1)

    def end_transaction(self, producer: tuple[int, int], *, is_committed: bool) -> None:
        """Append the marker of a transaction."""
        first = self.open.pop(producer[0], None)
        if first is None:
            return
        if not is_committed:
            self.aborted.append((producer[0], first, self.end))
        self._append(control_batch(producer, time.time_ns() // 1_000_000, is_committed=is_committed), 1)

    def read(self, offset: int, limit: int, end: int) -> bytes:
        """Return batches from an offset on, at least one if there is one before `end`."""
        parts: list[bytes] = []
        size = 0
        for one in self._log:
            if one.end <= offset:
                continue
            if one.base >= end or (parts and size + len(one.data) > min(limit, _MAX_READ)):
                break
            parts.append(one.data)
            size += len(one.data)
        return b"".join(parts)

    def truncate_before(self, offset: int) -> None:
        """Delete records before an offset, which may be after the end: the log is then empty."""
        self.start = offset
        self.end = max(self.end, offset)
        self._log = deque(one for one in self._log if one.base >= offset)
        self._size = sum(len(one.data) for one in self._log)

    def begin_again(self) -> None:
        """Delete all records, as if the log had been lost: the next record has offset 0."""
        self.start = self.end = self._size = 0
        self._log.clear()
        self.add_record()


class Topic:
    """A topic with a name and an id."""

    def __init__(self, name: str, count: int, first_node: int) -> None:
        self.name = name
        self.id = blake2b(name.encode(), digest_size=16).digest()
        self.partitions = [Partition(NODES[(first_node + at) % len(NODES)]) for at in range(count)]
        for each in self.partitions:
            for _ in range(_FIRST_RECORDS):
                each.add_record()

    def recreate(self) -> None:
        """Give it another id, as if it had been deleted and created again."""
        self.id = blake2b(self.id, digest_size=16).digest()


class Topics:
    """All topics. A topic exists as soon as a client names it."""

    def __init__(self) -> None:
        self.by_name: dict[str, Topic] = {}

    def named(self, name: str, count: int = PARTITIONS) -> Topic | None:
        """Return a topic, a new one if need be; None for an empty name, or if there are too many."""
        found = self.by_name.get(name)
        if found is None and name and len(self.by_name) < _MAX_TOPICS:
            found = self.by_name[name] = Topic(name, max(count, 1), len(self.by_name))
        return found

    def with_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic with an id."""
        return next((one for one in self.by_name.values() if one.id == topic_id), None)
