"""Written batches of each partition in a bounded window, and the reads that deliver them.

`native/src/transfers/delays.rs` is the same, compiled. Times are nanoseconds. Clients, their connections and
topics are numbers of `delay_traffic`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kdissect.sketches.distribution import Distribution, DistributionRow

BATCHES_KEPT = 1 << 16  # of all partitions, 100 to 600 bytes each. The oldest ones go first
PARTITIONS_KEPT = 20_000
_SENDERS_KEPT = 1 << 14  # connections with the time of their last Fetch
_CURSORS_KEPT = 8  # connections of a reader: several consumers of one host may share a client id
READERS_KEPT = 8_000  # a client and a partition, 1 to 14 KB each
_EARLY_KEPT = 16  # reads of a partition that come before the Produce's response
_STEPS_KEPT = 16  # advances of a high watermark, for batches whose Produce is answered later
_PENDING_KEPT = 256  # reads of a reader that wait for a commit
_ALL_PENDING_KEPT = 1 << 16
RUNS_KEPT = 64
"""Records of a batch with other milliseconds than these share the first of some."""
OLDEST_NS = 120 * 10**9
"""A record waits for this long in a producer at most: delivery.timeout.ms,
org.apache.kafka.clients.producer.ProducerConfig. A timestamp that is older is no time of sending.
"""
_MS = 10**6
NEVER = (1 << 63) - 1
MOST_OFFSET = NEVER // 2
"""Offsets after a larger one may not fit into 64 bits."""
CONTROL, TRANSACTIONAL, ABORTED = 1, 2, 4
"""Bits of a read batch: markers, records of a transaction, records that read_committed leaves out."""

Run = tuple[int | None, int]
"""CreateTime in milliseconds, None without one, and how many records of a batch in a row have it."""
ReadBatch = tuple[int, int, int, int]
"""First and last offset of a batch, its number of records, and bits."""
ReadPartition = tuple[int, int, int, int, Sequence[ReadBatch]]
"""Topic, partition, high watermark, last stable offset, batches."""
Sum = tuple[int, int, int]
"""How many records, their nanoseconds in all, and the longest."""
ClockRow = tuple[int, int, int, int, int, int, int | None]
"""Connection, then its written records: all, without a time, too old, after their Produce. By how much the
producer's clock is ahead at least, and behind at most.
"""


class ReaderRow(NamedTuple):
    """Reads of a partition by a client: counts, distributions, stages and lag."""

    client: int
    topic: int
    partition: int
    unmatched: int
    aborted: int
    again: int
    delay: DistributionRow | None
    age: DistributionRow | None
    committed: DistributionRow | None
    linger: Sum
    broker: Sum
    poll: Sum
    commit: Sum
    lag: int | None
    lag_ns: int | None


class _Written:
    __slots__ = (
        "answered", "base", "is_all", "is_transactional", "last", "readable", "runs", "sent", "stable"
    )  # fmt: skip

    def __init__(
        self, base: int, last: int, sent: int, answered: int, is_all: bool, runs: Sequence[Run]
    ) -> None:
        self.base = base
        self.last = last
        self.sent = sent
        self.answered = answered
        self.is_all = is_all
        self.runs = runs
        self.readable = self.stable = NEVER


class _Read(NamedTuple):
    """A delivery of the offsets from `first` to `last`. `idle` is when the connection's previous Fetch was
    answered.
    """

    reader: _Reader
    sender: int
    first: int
    last: int
    is_committed: bool
    idle: int
    asked: int
    read: int
    counts: bool


class _Partition:
    __slots__ = (
        "batches", "early", "end", "has_transactions", "least_end", "number", "readable", "stable", "topic"
    )  # fmt: skip

    def __init__(self, topic: int, number: int) -> None:
        self.topic = topic
        self.number = number
        self.batches: deque[_Written] = deque()
        self.early: list[_Read] = []
        self.readable = _Mark()
        self.stable = _Mark()
        self.end = self.least_end = -1
        self.has_transactions = False


class _Mark:
    """An end of a partition that advances: up to where, and the last steps with their times."""

    __slots__ = ("offset", "steps")

    def __init__(self) -> None:
        self.offset = -1
        self.steps: deque[tuple[int, int]] = deque(maxlen=_STEPS_KEPT)

    def time_of(self, last: int) -> int:
        """Return when it was first seen after an offset, `NEVER` if it was not."""
        return next((time for offset, time in self.steps if offset > last), NEVER)


class _Stage:
    __slots__ = ("count", "longest", "sum")

    def __init__(self) -> None:
        self.count = self.sum = self.longest = 0

    def add(self, value: int, count: int) -> None:
        self.count += count
        self.sum += value * count
        self.longest = max(self.longest, value)

    def row(self) -> Sum:
        return self.count, self.sum, self.longest


class _Pending(NamedTuple):
    first: int
    last: int
    sent: int
    read: int


class _Reader:
    __slots__ = (
        "aborted", "again", "age", "broker", "client", "commit", "committed", "cursors", "delay", "linger",
        "partition", "pending", "poll", "position", "unmatched",
    )  # fmt: skip

    def __init__(self, client: int, partition: _Partition) -> None:
        self.client = client
        self.partition = partition
        self.position = -1
        self.cursors: dict[int, int] = {}
        """By connection the offset after the last delivered one."""
        self.unmatched = self.aborted = self.again = 0
        self.delay, self.age, self.committed = Distribution(), Distribution(), Distribution()
        self.linger, self.broker, self.poll, self.commit = _Stage(), _Stage(), _Stage(), _Stage()
        self.pending: deque[_Pending] = deque()


class _Clock:
    __slots__ = ("ahead", "behind", "early", "old", "records", "without")

    def __init__(self) -> None:
        self.records = self.without = self.old = self.early = self.ahead = 0
        self.behind: int | None = None

    def add(self, runs: Iterable[Run], sent: int) -> None:
        for created, count in runs:
            self.records += count
            waited = None if created is None else sent - created * _MS
            if waited is None:
                self.without += count
            elif waited > OLDEST_NS:
                self.old += count
            elif waited < 0:
                self.early += count
                self.ahead = max(self.ahead, -waited)
            else:
                self.behind = waited if self.behind is None else min(self.behind, waited)

    def row(self, sender: int) -> ClockRow:
        return sender, self.records, self.without, self.old, self.early, self.ahead, self.behind


class DelayState:
    """Writes and reads by partition. `forgotten` counts reads of readers that do not fit."""

    def __init__(self, batches: int = BATCHES_KEPT, readers: int = READERS_KEPT) -> None:
        self._batches_kept = batches
        self._readers_kept = readers
        self._partitions: dict[tuple[int, int], _Partition] = {}
        self._readers: dict[tuple[int, int, int], _Reader] = {}
        self._clocks: dict[int, _Clock] = {}
        self._order: deque[_Partition] = deque()
        self._answers: dict[int, int] = {}
        self._clients: list[int] = []
        self._pending = 0
        self.now = 0
        """The time of the last exchange."""
        self.forgotten = 0
        self.unplaced = 0
        """Written records without a known offset."""
        self.left = 0
        """Batches that left the window."""

    @property
    def met(self) -> int:
        """How many connections have a client."""
        return len(self._clients)

    def meet(self, client: int) -> None:
        """Take the client of the connection with the next number."""
        self._clients.append(client)

    def produced(
        self, sender: int, where: tuple[int, int], offset: int, kinds: tuple[bool, bool],
        times: tuple[int, int], runs: Sequence[Run],
    ) -> None:  # fmt: skip
        """Take a batch that was written on a connection. `where` is topic and partition. An offset below 0 is
        not known.

        `kinds`: sent with acks=all, of a transaction. `times`: the request's first byte, and the response's
        or 0.
        """
        sent, answered = times
        is_all, is_transactional = kinds
        self.now = max(self.now, sent, answered)
        clock = self._clocks.get(sender)
        if clock is None and len(self._clocks) < self._readers_kept:
            clock = self._clocks[sender] = _Clock()
        if clock is not None:
            clock.add(runs, sent)
        count = sum(run[1] for run in runs)
        partition = self._partition(where)
        if partition is None or count < 1:
            return
        partition.has_transactions |= is_transactional
        if not 0 <= offset <= MOST_OFFSET:
            self.unplaced += count
            return
        written = _Written(offset, offset + count - 1, sent, answered, is_all, runs)
        at = _place(partition.batches, offset)
        if (at < len(partition.batches) and partition.batches[at].base <= written.last) or (
            at and partition.batches[at - 1].last >= offset
        ):
            return  # a batch that was sent again
        partition.end = max(partition.end, written.last + 1)
        written.readable = partition.readable.time_of(written.last)
        written.stable = partition.stable.time_of(written.last)
        partition.batches.insert(at, written)
        self._order.append(partition)
        if partition.early:
            self._match_early(partition, written)
        if len(self._order) > self._batches_kept:
            self._order.popleft().batches.popleft()
            self.left += 1

    def fetched(
        self, sender: int, kinds: tuple[bool, bool, bool], times: tuple[int, int, int],
        asked: Iterable[tuple[int, int, int]], answered: Iterable[ReadPartition],
    ) -> None:  # fmt: skip
        """Take a Fetch on a connection. `kinds`: by a follower, with read_committed, whether it
        counts. `times`: first byte of the request, first and last byte of the response. `asked`: topic,
        partition and offset. `answered`: partitions without an error.
        """
        is_follower, is_committed, counts = kinds
        asked_ns, first_ns, last_ns = times
        self.now = max(self.now, asked_ns, last_ns)
        client = self._clients[sender]
        for topic, number, offset in () if is_follower else asked:
            reader = self._reader(client, topic, number)
            if reader is not None:
                reader.position = offset
        idle = self._answers.get(sender, -NEVER)
        for topic, number, high, stable, batches in answered:
            partition = self._partition((topic, number))
            if partition is None:
                continue
            reader = None if is_follower else self._reader(client, topic, number)
            for first, last, records, bits in batches:
                partition.has_transactions |= bits & (CONTROL | TRANSACTIONAL) != 0
                if reader is None:
                    continue
                read = _Read(reader, sender, first, last, is_committed, idle, asked_ns, last_ns, counts)
                self._deliver(partition, read, records, bits)
                reader.position = max(reader.position, last + 1)
            partition.end = max(partition.end, high)
            _advance(partition, partition.readable, high, first_ns, is_stable=False)
            _advance(partition, partition.stable, stable, first_ns, is_stable=True)
        if not is_follower and last_ns:
            if sender not in self._answers and len(self._answers) >= _SENDERS_KEPT:
                self._answers.clear()
            self._answers[sender] = last_ns

    def committed(self, client: int, where: tuple[int, int], offset: int, time: int, counts: bool) -> None:
        """Take an offset that a client commits."""
        self.now = max(self.now, time)
        reader = self._readers.get((client, *where))
        while reader is not None and reader.pending and reader.pending[0].first < offset:
            first, last, sent, read = reader.pending.popleft()
            self._pending -= 1
            end = min(last, offset - 1)
            if counts and time >= read:
                reader.commit.add(time - read, end - first + 1)
                reader.committed.add_times(time - sent, end - first + 1)
            if end < last:
                reader.pending.appendleft(_Pending(end + 1, last, sent, read))
                self._pending += 1

    def logged(self, where: tuple[int, int], offset: int) -> None:
        """Take the first offset of records that a request log does not have. Their number is not known."""
        partition = self._partition(where)
        if partition is not None:
            partition.least_end = max(partition.least_end, min(offset, MOST_OFFSET) + 1)

    def lost(self, client: int, where: tuple[int, int]) -> None:
        """Take that a client read records that a request log does not have: its position is not known."""
        reader = self._readers.get((client, *where))
        if reader is not None:
            reader.position = -1

    def readers(self) -> list[ReaderRow]:
        """Return what each client read of each partition."""
        found = []
        for reader in self._readers.values():
            partition = reader.partition
            waiting = sum(
                early.last - early.first + 1
                for early in partition.early
                if early.reader is reader and early.counts
            )
            lag, lag_ns = _lag(reader, self.now)
            row = ReaderRow(
                reader.client, partition.topic, partition.number, reader.unmatched + waiting, reader.aborted,
                reader.again, _row(reader.delay), _row(reader.age), _row(reader.committed),
                reader.linger.row(), reader.broker.row(), reader.poll.row(), reader.commit.row(), lag, lag_ns,
            )  # fmt: skip
            found.append(row)
        return found

    def clocks(self) -> list[ClockRow]:
        """Return the clocks of connections, in any order."""
        return [clock.row(sender) for sender, clock in self._clocks.items()]

    def take_clock(self, sender: int) -> ClockRow | None:
        """Return the clock of a connection that is over, and forget it. None if it wrote no records."""
        clock = self._clocks.pop(sender, None)
        return None if clock is None else clock.row(sender)

    def _partition(self, where: tuple[int, int]) -> _Partition | None:
        found = self._partitions.get(where)
        if found is None and len(self._partitions) < PARTITIONS_KEPT:
            found = self._partitions[where] = _Partition(*where)
        return found

    def _reader(self, client: int, topic: int, number: int) -> _Reader | None:
        found = self._readers.get((client, topic, number))
        if found is None:
            partition = self._partition((topic, number))
            if partition is None or len(self._readers) >= self._readers_kept:
                self.forgotten += 1
                return None
            found = self._readers[client, topic, number] = _Reader(client, partition)
        return found

    def _deliver(self, partition: _Partition, read: _Read, records: int, bits: int) -> None:
        reader = read.reader
        delivered = reader.cursors.get(read.sender, -1)
        first = max(read.first, delivered)
        if first > read.last or bits & CONTROL:
            reader.again += records if read.counts and not bits & CONTROL else 0
            return
        if delivered < 0:
            first = max(first, reader.position)  # the client drops records before the offset it asked for
            if first > read.last:
                return
        reader.cursors[read.sender] = read.last + 1
        if len(reader.cursors) > _CURSORS_KEPT:
            del reader.cursors[next(iter(reader.cursors))]
        if bits & ABORTED:
            reader.aborted += records if read.counts else 0
            return
        if records != read.last - read.first + 1:  # compaction removed some of them
            reader.unmatched += records if read.counts else 0
        else:
            self._match(partition, read, first)

    def _match(self, partition: _Partition, read: _Read, first: int) -> None:
        """Match offsets from `first` on with the batches that wrote them."""
        reader = read.reader
        for written in _overlapping(partition.batches, first, read.last):
            if written.base > first:
                reader.unmatched += written.base - first if read.counts else 0
            first = max(first, written.base)
            last = min(read.last, written.last)
            self._count(partition, written, read._replace(first=first, last=last))
            first = last + 1
        if first > read.last:
            return
        if partition.batches and partition.batches[-1].last >= first:
            reader.unmatched += read.last - first + 1 if read.counts else 0
            return
        partition.early.append(read._replace(first=first))
        if len(partition.early) > _EARLY_KEPT:
            oldest = partition.early.pop(0)
            oldest.reader.unmatched += oldest.last - oldest.first + 1 if oldest.counts else 0

    def _match_early(self, partition: _Partition, written: _Written) -> None:
        """Match a batch with reads that came before the response of its Produce."""
        left: list[_Read] = []
        for read in partition.early:
            first, last = max(read.first, written.base), min(read.last, written.last)
            if first > last:
                left.append(read)
                continue
            self._count(partition, written, read._replace(first=first, last=last))
            if read.first < first:
                left.append(read._replace(last=first - 1))
            if read.last > last:
                left.append(read._replace(first=last + 1))
        partition.early = left

    def _count(self, partition: _Partition, written: _Written, read: _Read) -> None:
        """Count the delivery of records of one batch."""
        reader, count = read.reader, read.last - read.first + 1
        delay = read.read - written.sent
        if not read.counts:
            return
        if delay < 0:  # two clocks, in captures of several places
            reader.unmatched += count
            return
        poll = _poll(partition, written, read)
        reader.delay.add_times(delay, count)
        reader.poll.add(poll, count)
        reader.broker.add(delay - poll, count)
        for created, number in _within(written, read.first, read.last):
            waited = -1 if created is None else written.sent - created * _MS
            if 0 <= waited <= OLDEST_NS:
                reader.linger.add(waited, number)
                reader.age.add_times(delay + waited, number)
        if len(reader.pending) >= _PENDING_KEPT or self._pending >= _ALL_PENDING_KEPT:
            if not reader.pending:
                return
            reader.pending.popleft()
            self._pending -= 1
        reader.pending.append(_Pending(read.first, read.last, written.sent, read.read))
        self._pending += 1


def _poll(partition: _Partition, written: _Written, read: _Read) -> int:
    """Return for how long records could be read before they were.

    Packets prove since when: a response to acks=all, or the end of the partition in an earlier response. Else
    the time in which the client did not ask counts.
    """
    if read.is_committed and partition.has_transactions:
        proof = written.stable
    else:
        proof = min(written.readable, written.answered if written.is_all and written.answered else NEVER)
    if proof < read.read:
        return read.read - max(proof, written.sent)
    since = max(written.answered or written.sent, written.sent, read.idle)
    return max(0, min(read.asked, read.read) - since)


def _within(written: _Written, first: int, last: int) -> Iterator[Run]:
    """Yield the CreateTimes of offsets in a batch."""
    offset = written.base
    for created, count in written.runs:
        number = min(last, offset + count - 1) - max(first, offset) + 1
        if number > 0:
            yield created, number
        offset += count


def _advance(partition: _Partition, mark: _Mark, offset: int, time: int, is_stable: bool) -> None:
    """Take an end of a partition from a response."""
    if offset <= mark.offset:
        return
    batches = partition.batches
    for at in range(_place(batches, mark.offset), len(batches)):
        written = batches[at]
        if written.last >= offset:
            break
        if is_stable:
            written.stable = min(written.stable, time)
        else:
            written.readable = min(written.readable, time)
    mark.offset = offset
    mark.steps.append((offset, time))


def _place(batches: deque[_Written], offset: int) -> int:
    """Return the number of the first batch that ends at an offset or after it."""
    if not batches or batches[-1].last < offset:  # nearly always
        return len(batches)
    return bisect_left(batches, offset, key=lambda written: written.last)


def _overlapping(batches: deque[_Written], first: int, last: int) -> Iterator[_Written]:
    for at in range(_place(batches, first), len(batches)):
        if batches[at].base > last:
            return
        yield batches[at]


def _lag(reader: _Reader, now: int) -> tuple[int | None, int | None]:
    """Return how many offsets a reader is behind, and since when the first of them is there.

    The latter is None if its Produce is not in the window.
    """
    end, position = reader.partition.end, reader.position
    if position < 0 or end < max(position, reader.partition.least_end):
        return None, None
    if end == position:
        return 0, 0
    batches = reader.partition.batches
    at = _place(batches, position)
    is_known = at < len(batches) and batches[at].base <= position
    return end - position, max(now - batches[at].sent, 0) if is_known else None


def _row(distribution: Distribution) -> DistributionRow | None:
    zeros, bins = distribution.bins()
    return (zeros, bins, distribution.sum, distribution.min, distribution.max) if distribution.count else None


def runs_of(times: Iterable[int | None]) -> list[Run]:
    """Return the CreateTimes of a batch's records as runs, `RUNS_KEPT` at most."""
    runs: list[Run] = []
    for time in times:
        if runs and runs[-1][0] == time:
            runs[-1] = time, runs[-1][1] + 1
        else:
            runs.append((time, 1))
    if len(runs) <= RUNS_KEPT:
        return runs
    width = -(-len(runs) // RUNS_KEPT)
    parts = (runs[at : at + width] for at in range(0, len(runs), width))
    return [(part[0][0], sum(count for _, count in part)) for part in parts]
