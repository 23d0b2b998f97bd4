"""Locks of members of share groups on offsets of a partition (KIP-932)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Generic, NamedTuple, TypeVar

from kdissect.model.packets.stream import CloseKind
from kdissect.session.info import ConnectionInfo

_COUNTS_KEPT = 100  # different delivery counts of one tally. A broker allows 10 by default


class Tally:
    """Offsets that a member received of a topic, and `ends` of their deliveries by name.

    `counts` are the offsets by delivery count. `ends` are those of the protocol (`accepted`, `released`,
    `rejected`, `renewed`, `gaps`), `refused` acknowledgements, `expired` locks, `returned` ones, whose share
    session or connection ended first, and `unclear`: no packet shows how the delivery ended. `given_up`
    offsets had been released or expired, and later offsets were delivered without them. `late` ones were
    acknowledged without an error when their delivery had ended. `info` is the last
    connection, and `client_id` what it sent there.
    """

    __slots__ = ("client_id", "counts", "ends", "info")

    def __init__(self, info: ConnectionInfo) -> None:
        self.info = info
        self.client_id: str | None = None
        self.counts: Counter[int] = Counter()
        self.ends: Counter[str] = Counter()

    def deliver(self, count: int, offsets: int) -> None:
        """Count offsets that the member received, by their delivery count."""
        if count in self.counts or len(self.counts) < _COUNTS_KEPT:
            self.counts[count] += offsets


class Lock(NamedTuple):
    """A member's lock on offsets `first` to `last`.

    The broker ends it by itself no sooner than at `least_ns`, and its time is over at `until_ns`; None if the
    response does not contain the time of locks.
    """

    first: int
    last: int
    tally: Tally
    member: str
    info: ConnectionInfo
    least_ns: int | None
    until_ns: int | None

    def end_at(self, time_ns: int) -> str:
        """Return how the delivery ended if the lock is no more at a time, and no acknowledgement is known."""
        if self.is_over_with_connection(time_ns):
            return "returned"
        return "expired" if self.least_ns is not None and self.least_ns <= time_ns else "unclear"

    def is_over_with_connection(self, time_ns: int) -> bool:
        """Return whether the member's connection ended by a time, and before the time of the lock."""
        close = self.info.close
        if close is None or close.how is CloseKind.CAPTURE_END or close.time_ns > time_ns:
            return False
        return self.until_ns is None or close.time_ns < self.until_ns


class Freed(NamedTuple):
    """Offsets that wait for their next delivery since a time. `tally` and `member` are of the last one."""

    first: int
    last: int
    tally: Tally
    member: str
    since_ns: int


S = TypeVar("S", Lock, Freed)


def size_of(span: Lock | Freed) -> int:
    """Return the number of offsets."""
    return span.last - span.first + 1


class Spans(Generic[S]):
    """Ranges of offsets that lie apart, in their order."""

    __slots__ = ("spans",)

    def __init__(self) -> None:
        self.spans: list[S] = []

    def put(self, span: S) -> None:
        """Add a range. No other one has an offset of it."""
        self.spans.insert(bisect_left(self.spans, span.first, key=_first), span)

    def cut(self, first: int, last: int) -> list[S]:
        """Remove all offsets from `first` to `last`, and return what they belonged to."""
        at = bisect_left(self.spans, first, key=_last)
        end = bisect_right(self.spans, last, lo=at, key=_first)
        found, left = [], []
        for span in self.spans[at:end]:
            found.append(span._replace(first=max(span.first, first), last=min(span.last, last)))
            if span.first < first:
                left.append(span._replace(last=first - 1))
            if span.last > last:
                left.append(span._replace(first=last + 1))
        self.spans[at:end] = left
        return found


def _first(span: Lock | Freed) -> int:
    return span.first


def _last(span: Lock | Freed) -> int:
    return span.last
