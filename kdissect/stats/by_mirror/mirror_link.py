"""Compares a topic with its copy, record by record, in bounded memory.

Records are equal if their digests are. Those of which one side was seen wait for the other side. A copy that
is equal to one that arrived before, and for which no record of the source comes, is a duplicate.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from kdissect.sketches.distribution import Distribution
from kdissect.sketches.offset_runs import OffsetRuns
from kdissect.stats.by_mirror.offset_translation import OffsetTranslation

MOST_WAITING = 700_000
"""Records that wait for their other side, of all links together, about 300 bytes each."""
MOST_REMEMBERED = 1_000_000
"""Contents that arrived, about 70 bytes each. A second copy of an older one is `unmatched`."""
MOST_PLACES = 1_000
"""Places of a link that are listed. All are counted."""


class Sighting(NamedTuple):
    """The first time that a record of a partition was seen: `digest` of its content, time in nanoseconds."""

    partition: int
    offset: int
    digest: int
    time_ns: int
    is_transactional: bool = False
    is_again: bool = False
    """Whether an equal record arrived before."""


class Place(NamedTuple):
    """Neighbouring records of one kind: `missing` (offsets of the source), `duplicate`, `reordered` or
    `unmatched` (offsets of the mirror).
    """

    partition: int
    what: str
    first: int
    last: int


class Remembered:
    """Contents that arrived, of all links: the newest half at least of `most`."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most // 2
        self._young: set[int] = set()
        self._old: set[int] = set()

    def add(self, content: int) -> None:
        """Add the digest of a partition and a content."""
        self._young.add(content)
        if len(self._young) >= self._most:
            self._old, self._young = self._young, set()

    def __contains__(self, content: int) -> bool:
        return content in self._young or content in self._old


class Room:
    """State of all links together: contents that arrived, and the number of records that may wait."""

    def __init__(self, most: int = MOST_WAITING, remembered: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._waiting = 0
        self._queues: list[_Queue] = []
        self.remembered = Remembered(remembered)

    def queue(self) -> _Queue:
        """Return a new queue that counts here."""
        queue = _Queue(self)
        self._queues.append(queue)
        return queue

    def take(self) -> None:
        """Count one more record; the longest queue loses its older half if there are too many."""
        self._waiting += 1
        if self._waiting > self._most:
            max(self._queues, key=lambda queue: queue.count).drop_half()

    def give(self, count: int) -> None:
        """Count fewer records."""
        self._waiting -= count


class _Queue:
    """Records of a side of a partition that wait for the other side. `again` of them, and `dropped_again` of
    those that were dropped, are equal to one that arrived before.
    """

    __slots__ = ("_held", "_room", "again", "count", "dropped", "dropped_again")

    def __init__(self, room: Room) -> None:
        self._held: dict[int, list[Sighting]] = {}
        self._room = room
        self.again = self.count = self.dropped = self.dropped_again = 0

    def put(self, sighting: Sighting) -> None:
        self._held.setdefault(sighting.digest, []).append(sighting)
        self.again += sighting.is_again
        self.count += 1
        self._room.take()

    def pop(self, digest: int, above: int) -> Sighting | None:
        """Return a record of this content and remove it: the first one above an offset, else the oldest.

        Of equal records the one that comes next in order is taken, so that none looks out of order that
        may be in order.
        """
        held = self._held.get(digest)
        if held is None:
            return None
        found = held.pop(next((i for i, sighting in enumerate(held) if sighting.offset > above), 0))
        if not held:
            del self._held[digest]
        self._forget([found])
        return found

    def all(self) -> list[Sighting]:
        """Return what waits, by offset."""
        return sorted(chain.from_iterable(self._held.values()))

    def drop_half(self) -> None:
        """Drop the older half."""
        for digest in list(self._held)[: max(len(self._held) // 2, 1)]:
            dropped = self._held.pop(digest)
            again = self._forget(dropped)
            self.dropped += len(dropped) - again
            self.dropped_again += again

    def _forget(self, gone: list[Sighting]) -> int:
        """Count records that wait no more. Return how many of them are equal to an earlier one."""
        again = sum(sighting.is_again for sighting in gone)
        self.again -= again
        self.count -= len(gone)
        self._room.give(len(gone))
        return again


class _Partition:
    __slots__ = ("copies", "first_source", "first_target", "last_source", "last_target", "offsets", "sources")

    def __init__(self, room: Room) -> None:
        self.sources, self.copies = room.queue(), room.queue()
        self.offsets = OffsetTranslation()
        self.first_source = self.last_source = self.first_target = self.last_target = -1
        """The lowest and highest offsets of records that arrived, and of copies."""


class LinkFacts(NamedTuple):
    """Counts of the records of a link (docs/statistics.md)."""

    arrived: int
    missing: int
    in_transactions: int
    passed_over: int
    duplicates: int
    duplicates_in_transactions: int
    reordered: int
    unmatched: int
    waiting: int
    outside: int
    early: int
    left_out: int
    source_unseen: int
    target_unseen: int
    delay: Distribution
    places: list[Place]


class MirrorLink:
    """A topic and its copy. `source` and `target` are the seen offsets of their partitions."""

    def __init__(self, room: Room, source: dict[int, OffsetRuns], target: dict[int, OffsetRuns]) -> None:
        self._room = room
        self._source, self._target = source, target
        self._partitions: dict[int, _Partition] = {}
        self._arrived = self._reordered = self._early = 0
        self._delay = Distribution()
        self._places: list[Place] = []

    def add_source(self, sighting: Sighting) -> None:
        """Take a record of the source that was not seen before."""
        partition = self._partition(sighting.partition)
        copy = partition.copies.pop(sighting.digest, -1)
        if copy is None:
            partition.sources.put(sighting)
        else:
            self._match(partition, sighting, copy)

    def add_target(self, sighting: Sighting) -> None:
        """Take a record of the copy that was not seen before."""
        partition = self._partition(sighting.partition)
        source = partition.sources.pop(sighting.digest, partition.last_source)
        if source is not None:
            self._match(partition, source, sighting)
        else:
            is_again = self._content(sighting) in self._room.remembered
            partition.copies.put(sighting._replace(is_again=is_again))

    def translated(self, partition: int, offset: int) -> int | None:
        """Return the offset of the copy of a record; None if it is not known."""
        found = self._partitions.get(partition)
        return None if found is None else found.offsets.of(offset)

    def has_duplicates(self, partition: int) -> bool:
        """Return whether a content may be at several offsets of the copy."""
        found = self._partitions.get(partition)
        return found is not None and found.copies.again + found.copies.dropped_again > 0

    def facts(self) -> LinkFacts:
        """Return what is known by now."""
        missing = waiting = unmatched = outside = in_transactions = left_out = 0
        source_unseen = target_unseen = passed_over = duplicates = aborted = 0
        places = list(self._places)
        for number, partition in sorted(self._partitions.items()):
            gone = in_transaction = odd = 0
            for sighting in partition.sources.all():
                if sighting.offset > partition.last_source:
                    waiting += 1
                elif sighting.offset < partition.first_source:
                    outside += 1
                else:
                    gone += 1
                    in_transaction += sighting.is_transactional
                    _note(places, number, "missing", sighting.offset)
            for copy in partition.copies.all():
                if copy.is_again:
                    duplicates += 1
                    aborted += copy.is_transactional
                    _note(places, number, "duplicate", copy.offset)
                elif partition.first_target < copy.offset < partition.last_target:
                    odd += 1
                    _note(places, number, "unmatched", copy.offset)
                else:
                    outside += 1
            duplicates += partition.copies.dropped_again
            dropped = partition.sources.dropped + partition.copies.dropped
            unseen = _unseen(self._target.get(number), partition.first_target, partition.last_target)
            source_unseen += _unseen(self._source.get(number), partition.first_source, partition.last_source)
            # Each may be at an offset of the copy that was not seen, or have another content there.
            passed_over += max(gone - in_transaction - unseen - odd - dropped, 0)
            missing += gone
            in_transactions += in_transaction
            unmatched += odd
            left_out += dropped
            target_unseen += unseen
        return LinkFacts(
            self._arrived, missing, in_transactions, passed_over, duplicates, aborted, self._reordered,
            unmatched, waiting, outside, self._early, left_out, source_unseen, target_unseen, self._delay,
            places,
        )  # fmt: skip

    def _partition(self, number: int) -> _Partition:
        found = self._partitions.get(number)
        if found is None:
            found = self._partitions[number] = _Partition(self._room)
        return found

    def _content(self, sighting: Sighting) -> int:
        return hash((id(self), sighting.partition, sighting.digest))

    def _match(self, partition: _Partition, source: Sighting, copy: Sighting) -> None:
        self._arrived += 1
        took_ns = copy.time_ns - source.time_ns
        if took_ns < 0:
            self._early += 1
        else:
            self._delay.add(took_ns)
        self._room.remembered.add(self._content(copy))
        partition.offsets.add(source.offset, copy.offset)
        if partition.first_source < 0:
            partition.first_source, partition.first_target = source.offset, copy.offset
        if copy.offset > partition.last_target:
            partition.last_target = copy.offset
            if source.offset < partition.last_source:
                self._reordered += 1
                _note(self._places, copy.partition, "reordered", copy.offset)
        partition.first_source = min(partition.first_source, source.offset)
        partition.first_target = min(partition.first_target, copy.offset)
        partition.last_source = max(partition.last_source, source.offset)


def _unseen(runs: OffsetRuns | None, first: int, last: int) -> int:
    return 0 if runs is None or first < 0 else runs.unseen(first, last)


def _note(places: list[Place], partition: int, what: str, offset: int) -> None:
    if places:
        last = places[-1]
        if last.partition == partition and last.what == what and last.last + 1 == offset:
            places[-1] = last._replace(last=offset)
            return
    if len(places) < MOST_PLACES:
        places.append(Place(partition, what, offset, offset))
