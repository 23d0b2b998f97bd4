"""Offsets that a connection fetches again and again although the responses bring records.

A consumer that can use a response asks for the next offset. Fetches are compared by connection and client id:
other consumers with the same client id, and a consumer that starts again, have connections of their own, and
a proxy may carry several clients on one connection. A Fetch of a session that does not name a partition
repeats its former offset (KIP-227). A consumer keeps its version: a program that tries all versions is no
consumer. A client that starts over on a new connection is recognized by the old connection's last Fetch. The
native engine has the same code (native/src/transfers/refetches.rs).
"""

from __future__ import annotations

from typing import NamedTuple

from kdissect.engine.records.record_sets import record_sets
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import is_compiled, native
from kdissect.session.info import ConnectionInfo
from kdissect.stats.watermarks import refused_partitions, topic_of

STUCK_FROM = 3
"""Number of repeated Fetches at one offset, each after a response with records. A seek, or a partition
that is paused while a response is in transit, repeats one or two.
"""
_KEPT = 50_000  # connections times partitions with records; 500 bytes each
# Responses that are stored for the reason, and bytes of each.
_SAMPLES_KEPT = 16
_SAMPLE = 1 << 20

Times = tuple[int, int, int]
"""The times of request and response, in nanoseconds, and the version of both."""
Asked = list[tuple[str | bytes, int, int]]
"""Topic, by name or id, partition, and the offset."""
Answered = list[tuple[str | bytes, int, bytes]]
"""Topic, by name or id, partition, and the records."""


class StuckAt(NamedTuple):
    """A client's longest run of Fetches at one offset on a connection.

    `offset` is None if no request named it. `again`: Fetches after the first one. `first_ns` is the first
    one's time. `size`: bytes of the records in all responses. `is_last`: no other offset followed. `sample`:
    the first bytes of the records in one response, empty if they are not stored.
    """

    info: ConnectionInfo
    client_id: str | None
    topic: str | bytes
    partition: int
    offset: int | None
    again: int
    first_ns: int
    last_ns: int
    size: int
    is_last: bool
    sample: bytes

    @property
    def is_whole(self) -> bool:
        """Whether `sample` has all records of the response."""
        return len(self.sample) < _SAMPLE


class LastFetch(NamedTuple):
    """The last Fetch of a connection on which records came.

    `topic`, `partition` and `offset` belong to the first partition with records, and are undefined without
    records. `offset` is None if no request named it. `size`: bytes of all records in the response.
    `accepted`: of the largest response after which the connection fetched again.
    """

    client_id: str | None
    topic: str | bytes
    partition: int
    offset: int | None
    answered_ns: int
    size: int
    accepted: int


LastRow = tuple[str | None, str | bytes, int, int | None, int, int, int]
"""The fields of `LastFetch`."""
StuckRow = tuple[ConnectionInfo, str | None, str | bytes, int, int | None, int, int, int, int, bool, bytes]
"""The fields of `StuckAt`."""


class _Run(NamedTuple):
    offset: int | None = None
    again: int = 0
    first_ns: int = 0
    last_ns: int = 0
    size: int = 0


class _Partition:
    """A partition that a client reads on a connection."""

    __slots__ = ("answered_ns", "asked", "info", "longest", "run", "sample", "version")

    def __init__(self, info: ConnectionInfo, asked: int | None) -> None:
        self.info = info
        self.asked = asked
        self.answered_ns: int | None = None
        self.version = -1
        self.run = self.longest = _Run()
        self.sample = b""

    def answer(self, times: Times, records: bytes, *, may_keep: bool) -> bool:
        """Take a response with records. Return whether it is stored."""
        sent_ns, answered_ns, version = times
        run, size = self.run, len(records)
        is_same = (self.asked, version) == (run.offset, self.version)
        if self.answered_ns is not None and sent_ns >= self.answered_ns and is_same:
            run = run._replace(again=run.again + 1, last_ns=sent_ns, size=run.size + size)
        else:
            run = _Run(self.asked, 0, sent_ns, sent_ns, size)
        self.run, self.answered_ns, self.version = run, answered_ns, version
        if run.again > self.longest.again:
            self.longest = run
            if run.again == STUCK_FROM and may_keep:
                self.sample = records[:_SAMPLE]
                return True
        return False


class Refetches:
    """Refetches, by Fetches in their order."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, str | None, str | bytes, int], _Partition] = {}
        self._samples = 0
        self._last: dict[str, LastFetch] = {}

    def see(
        self, info: ConnectionInfo, client_id: str | None, times: Times, asked: Asked, answered: Answered
    ) -> None:
        """Take a Fetch."""
        for topic, number, offset in asked:
            known = self._partitions.get((info.id, client_id, topic, number))
            if known is not None:
                known.asked = offset
        offsets: dict[tuple[str | bytes, int], int] | None = None
        for topic, number, records in answered:
            if not records:
                continue
            if len(self._partitions) >= _KEPT:
                self._forget()
            found = self._partitions.get((info.id, client_id, topic, number))
            if found is None:
                if offsets is None:
                    offsets = {(of, partition): offset for of, partition, offset in reversed(asked)}
                found = _Partition(info, offsets.get((topic, number)))
                self._partitions[info.id, client_id, topic, number] = found
            self._samples += found.answer(times, records, may_keep=self._samples < _SAMPLES_KEPT)
        self._note_last(info, client_id, times, answered)

    def _note_last(
        self, info: ConnectionInfo, client_id: str | None, times: Times, answered: Answered
    ) -> None:
        """Remember a Fetch as the last one of its connection."""
        sent_ns, answered_ns, _ = times
        size = sum(len(records) for *_, records in answered)
        last = self._last.get(info.id)
        accepted = 0
        if last is not None:
            accepted = max(last.accepted, last.size) if sent_ns >= last.answered_ns else last.accepted
        elif not size:
            return
        topic: str | bytes = ""
        partition, offset = 0, None
        if size:
            topic, partition, _ = next(one for one in answered if one[2])
            offset = self._partitions[info.id, client_id, topic, partition].asked
        elif last is not None and not accepted:
            del self._last[info.id]
            return
        if last is None and len(self._last) >= _KEPT:
            self._last.clear()
        self._last[info.id] = LastFetch(client_id, topic, partition, offset, answered_ns, size, accepted)

    def leave(self, info: ConnectionInfo) -> LastRow | None:
        """End a connection: return its last Fetch, and forget it."""
        return self._last.pop(info.id, None)

    def stuck(self) -> list[StuckRow]:
        """Return partitions that were fetched at one offset at least `STUCK_FROM` times again."""
        return [
            (
                of.info, client_id, topic, number, *of.longest,
                of.run.offset == of.longest.offset and of.run.again >= of.longest.again, of.sample,
            )
            for (_, client_id, topic, number), of in self._partitions.items()
            if of.longest.again >= STUCK_FROM
        ]  # fmt: skip

    def _forget(self) -> None:
        """Keep only what `stuck` reports."""
        stuck = [(key, of) for key, of in self._partitions.items() if of.longest.again >= STUCK_FROM]
        self._partitions = dict(stuck[: _KEPT // 100])


def refetches() -> native.Refetches | Refetches:
    """Return the refetches of the engine in use."""
    return native.Refetches() if is_compiled else Refetches()


def see_fetch(seen: native.Refetches | Refetches, view: ExchangeView) -> None:
    """Take a Fetch that Python decoded."""
    if view.request is None:
        return
    refused = set() if view.response is None else refused_partitions(view.response.responses)
    asked = [
        (topic_of(topic), row.partition, row.fetch_offset)
        for topic in view.request.topics or ()
        for row in topic.partitions or ()
    ]
    answered = []
    for records in record_sets(view.exchange) if view.response is not None else ():
        field, frame = records.records_field, view.exchange.response
        topic, number = field.topic if field.topic is not None else field.topic_id, field.partition
        if frame is not None and topic is not None and number is not None and (topic, number) not in refused:
            answered.append((topic, number, frame.data[field.start : records.end]))
    times = view.sent_ns, view.evidence.answered_ns, view.version
    seen.see(view.info, view.exchange.client_id, times, asked, answered)
