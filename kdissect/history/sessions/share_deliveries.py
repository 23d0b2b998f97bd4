"""Deliveries of records to members of share groups, and how each of them ended (KIP-932).

A ShareFetch response locks offsets for a member for a time. The lock ends with an acknowledgement, with its
time, or with the member's share session. Key: scope, group, topic id and partition. Order: that of
completion. Another member may receive a record before the response to its release is captured.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from kdissect.decoders.bodies import fitting_body
from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.sessions.acknowledgements import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledged,
    acknowledged,
)
from kdissect.history.sessions.share_locks import Freed, Lock, Spans, Tally, size_of
from kdissect.history.sessions.share_sessions import FINAL
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.model.packets.packet import NEVER_NS
from kdissect.session.info import ConnectionInfo

PARTITIONS_KEPT = 20_000  # of all groups, 600 bytes each
TALLIES_KEPT = 20_000  # members times topics, 700 bytes each
SPANS_KEPT = 20_000  # of all partitions, 200 bytes each
_LONGEST = 1 << 31  # offsets of one range: a client asks for so many records at most (ShareFetch max_records)
_TAKEN_KEPT = 100  # of a partition: the responses to their acknowledgements follow soon
_MS = 1_000_000
# A broker ends a lock so much later at most: other threads of a busy machine may run first.
_LATE_NS = 1_000_000_000
_NAMES = {GAP: "gaps", ACCEPT: "accepted", RELEASE: "released", REJECT: "rejected", RENEW: "renewed"}

TallyKey = tuple[str, str, str, bytes]
"""Scope, group, member id, topic id."""
PartitionKey = tuple[str, str, bytes, int]


class _Partition:
    """Locks of one partition. `freed` offsets had a lock, and wait for the next one.

    `taken` were locks on offsets that another delivery has since, or none gets, with the end that they seem
    to have had, and when the response with that delivery came.
    """

    __slots__ = ("freed", "held", "taken")

    def __init__(self) -> None:
        self.held: Spans[Lock] = Spans()
        self.freed: Spans[Freed] = Spans()
        self.taken: deque[tuple[Lock | Freed, str, int]] = deque(maxlen=_TAKEN_KEPT)

    def __len__(self) -> int:
        return len(self.held.spans) + len(self.freed.spans)

    def end(self, lock: Lock, how: str, since_ns: int) -> None:
        """End a lock that was cut out. Its offsets wait for the next delivery, if they may have one."""
        lock.tally.ends[how] += size_of(lock)
        if how in ("released", "expired", "returned"):
            self.freed.put(Freed(lock.first, lock.last, lock.tally, lock.member, since_ns))

    def pass_over(self, offset: int, sent_ns: int) -> None:
        """Note that a request which was sent then brought this offset: no free one is before it."""
        for lock in [one for one in self.held.spans if _is_over(one, offset, sent_ns)]:
            self.held.cut(lock.first, lock.last)
            self.end(lock, "expired", sent_ns - 1)
        for freed in [one for one in self.freed.spans if one.last < offset and one.since_ns < sent_ns]:
            self.freed.cut(freed.first, freed.last)
            freed.tally.ends["given_up"] += size_of(freed)
            self.taken.append((freed, "given_up", NEVER_NS))


def _is_over(lock: Lock, offset: int, sent_ns: int) -> bool:
    """Return whether the time of a lock before an offset was over when a request was sent."""
    return lock.last < offset and lock.until_ns is not None and lock.until_ns + _LATE_NS < sent_ns


class _Seen(NamedTuple):
    """One exchange of a share session: its bodies, None for a response that was not captured, and times."""

    info: ConnectionInfo
    client_id: str | None
    group: str
    member: str
    request: Any
    response: Any
    sent_ns: int
    answered_ns: int


class ShareDeliveries:
    """Tallies by group, member and topic."""

    api_keys: ClassVar[frozenset[int]] = frozenset({apis.SHARE_FETCH, apis.SHARE_ACKNOWLEDGE})

    def __init__(self) -> None:
        self.tallies: Table[TallyKey, Tally] = Table(TALLIES_KEPT)
        self.last_ns = 0
        """When anything was last seen of a share session."""
        self._partitions: Table[PartitionKey, _Partition] = Table(PARTITIONS_KEPT)
        self._spans = 0

    def feed(self, view: ExchangeView) -> None:
        """Take the next ShareFetch or ShareAcknowledge."""
        if view.request is not None:
            info, client_id, evidence = view.info, view.exchange.client_id, view.evidence
            times = evidence.sent_ns, evidence.answered_ns
            self._take(info, client_id, (view.request, view.response), times)

    def take(
        self,
        info: ConnectionInfo,
        kind: tuple[int, int],
        bodies: tuple[bytes, bytes],
        row: native.EvidenceRow,
        client_id: str | None,
    ) -> bool:
        """Take one as a row of a block has it, which has a response. False, without a change, if it does not
        fit.
        """
        request, response = (
            fitting_body(body, *kind, is_response=bool(at)) for at, body in enumerate(bodies)
        )
        if request is None or response is None:
            return False
        self._take(info, client_id, (request, response), row[-2:])
        return True

    def _take(
        self, info: ConnectionInfo, client_id: str | None, bodies: tuple[Any, Any], times: tuple[int, int]
    ) -> None:
        request, response = bodies
        group, member = str(request.group_id), str(request.member_id)
        seen = _Seen(info, client_id, group, member, request, response, *times)
        if response is None:
            self.last_ns = max(self.last_ns, seen.sent_ns)
            self._not_answered(seen)
            return
        lists = _rows(request.topics), _rows(response.responses)
        if not any(lists) and request.share_session_epoch != FINAL:
            return  # an empty poll, which the native engine does not show
        self.last_ns = max(self.last_ns, *times)
        ends = _ends(seen)
        for one in acknowledged(request, response):
            if _is_range(one.first, one.last):
                self._acknowledge(seen, one, ends)
        if request.share_session_epoch == FINAL and not response.error_code:
            self._close(seen)
        for topic_id, row in lists[1]:
            if getattr(row, "acquired_records", None):  # a ShareAcknowledge response has none
                self._acquire(seen, topic_id, row, ends)
        while self._spans > SPANS_KEPT:
            self._forget()

    def unfinished(self, until_ns: int) -> Mapping[Tally, Counter[str]]:
        """Return the ends of locks that are left at the end of the capture: `expired`, `returned`, or `held`
        if their time is not over.
        """
        found: dict[Tally, Counter[str]] = {}
        for partition in self._partitions:
            for lock in partition.held.spans:
                end_ns = max(until_ns, lock.info.end_ns)
                is_over = lock.until_ns is not None and lock.until_ns <= end_ns
                how = "expired" if is_over else "held"
                if lock.is_over_with_connection(end_ns):
                    how = "returned"
                found.setdefault(lock.tally, Counter())[how] += size_of(lock)
        return found

    def _tally(self, seen: _Seen, topic_id: bytes) -> Tally:
        key = seen.info.scope, seen.group, seen.member, bytes(topic_id)
        tally = self.tallies.get_or(key, lambda: Tally(seen.info))
        tally.info, tally.client_id = seen.info, seen.client_id
        return tally

    def _partition(self, seen: _Seen, topic_id: bytes, partition: int) -> _Partition:
        key = seen.info.scope, seen.group, bytes(topic_id), partition
        if key not in self._partitions and len(self._partitions) >= PARTITIONS_KEPT:
            self._forget()
        return self._partitions.get_or(key, _Partition)

    def _not_answered(self, seen: _Seen) -> None:
        """Take acknowledgements without a response: whether the broker has them is unknown."""
        for topic_id, row in _rows(seen.request.topics):
            for batch in row.acknowledgement_batches or ():
                partition = self._partition(seen, topic_id, row.partition_index)
                size = len(partition)
                for lock in _own(partition, seen, batch.first_offset, batch.last_offset):
                    partition.end(lock, "unclear", 0)
                self._spans += len(partition) - size

    def _acknowledge(self, seen: _Seen, one: Acknowledged, ends: tuple[int, int] | None) -> None:
        topic_id, number = one.partition
        tally = self._tally(seen, topic_id)
        how = "refused" if one.is_refused else _NAMES.get(one.type, "unclear")
        offsets = one.last - one.first + 1
        if how == "refused":
            tally.ends[how] += offsets
            return
        partition = self._partition(seen, topic_id, number)
        size = len(partition)
        locks = _own(partition, seen, one.first, one.last)
        if how == "renewed":
            for lock in locks:
                least_ns, until_ns = ends or (None, None)
                partition.held.put(lock._replace(info=seen.info, least_ns=least_ns, until_ns=until_ns))
            tally.ends[how] += offsets
        else:
            without = offsets - sum(map(size_of, locks))
            late = min(_late(partition, seen, one, tally), without)
            tally.ends["late"] += late
            tally.ends[how] += without - late
            for lock in locks:
                is_late = lock.until_ns is not None and lock.until_ns + _LATE_NS < seen.sent_ns
                partition.end(lock, "expired" if is_late else how, seen.answered_ns)
                tally.ends["late"] += size_of(lock) if is_late else 0
        self._spans += len(partition) - size

    def _close(self, seen: _Seen) -> None:
        """End the locks of a member whose share session with a broker ended."""
        group, broker = seen.group, seen.info.broker_address
        member = seen.member
        for (scope, of_group, _, _), partition in self._partitions.items():
            if scope != seen.info.scope or of_group != group:
                continue
            size = len(partition)
            for lock in list(partition.held.spans):
                if lock.member == member and lock.info.broker_address == broker:
                    partition.held.cut(lock.first, lock.last)
                    is_over = lock.until_ns is not None and lock.until_ns <= seen.sent_ns
                    partition.end(lock, "expired" if is_over else "returned", seen.answered_ns)
            self._spans += len(partition) - size

    def _acquire(self, seen: _Seen, topic_id: bytes, row: Any, ends: tuple[int, int] | None) -> None:
        partition = self._partition(seen, topic_id, row.partition_index)
        tally, size = self._tally(seen, topic_id), len(partition)
        least_ns, until_ns = ends or (None, None)
        now_ns = seen.answered_ns
        for given in row.acquired_records:
            first, last = given.first_offset, given.last_offset
            if not _is_range(first, last):
                continue
            for lock in partition.held.cut(first, last):
                how = lock.end_at(now_ns)
                lock.tally.ends[how] += size_of(lock)
                partition.taken.append((lock, how, now_ns))
            partition.freed.cut(first, last)
            tally.deliver(given.delivery_count, last - first + 1)
            member = seen.member
            partition.held.put(Lock(first, last, tally, member, seen.info, least_ns, until_ns))
        partition.pass_over(row.acquired_records[-1].first_offset, seen.sent_ns)  # they are in order
        self._spans += len(partition) - size

    def _forget(self) -> None:
        """Forget the locks of the partition that was unused for longest."""
        key, partition = next(self._partitions.items())
        self._partitions.pop(key)
        self._spans -= len(partition)
        for lock in partition.held.spans:
            lock.tally.ends["unclear"] += size_of(lock)


def _is_range(first: int, last: int) -> bool:
    """Return whether offsets can be those of records."""
    return 0 <= first <= last < first + _LONGEST


def _rows(topics: Any) -> list[tuple[bytes, Any]]:
    """Return the partitions that a body lists, with the ids of their topics."""
    return [(topic.topic_id, row) for topic in topics or () for row in topic.partitions or ()]


def _ends(seen: _Seen) -> tuple[int, int] | None:
    """Return the least and the latest time at which new locks end by themselves, None if it is not known."""
    timeout_ns = sent(seen.response, "acquisition_lock_timeout_ms", 0) * _MS
    return (seen.sent_ns + timeout_ns, seen.answered_ns + timeout_ns) if timeout_ns > 0 else None


def _own(partition: _Partition, seen: _Seen, first: int, last: int) -> list[Lock]:
    """Cut out and return the locks that a request's member has on offsets."""
    member, found = seen.member, []
    for lock in partition.held.cut(first, last):
        if lock.member == member:
            found.append(lock)
        else:
            partition.held.put(lock)
    return found


def _late(partition: _Partition, seen: _Seen, one: Acknowledged, tally: Tally) -> int:
    """Return the acknowledged offsets whose delivery had ended before.

    A broker responds without an error if it is done with the offsets
    (kafka.server.share.SharePartition#acknowledge). If the member acknowledged them before another delivery,
    correct the end that they seemed to have had.
    """
    late = sum(
        max(min(freed.last, one.last) - max(freed.first, one.first) + 1, 0)
        for freed in partition.freed.spans
        if freed.tally is tally
    )
    member = seen.member
    for lock, how, taken_ns in list(partition.taken):
        first, last = max(lock.first, one.first), min(lock.last, one.last)
        if lock.member != member or first > last:
            continue
        if seen.sent_ns >= taken_ns:
            late += last - first + 1
            continue
        lock.tally.ends[how] -= last - first + 1
        partition.taken.remove((lock, how, taken_ns))
        parts = lock._replace(last=first - 1), lock._replace(first=last + 1)
        partition.taken += [(part, how, taken_ns) for part in parts if part.first <= part.last]
    return late
