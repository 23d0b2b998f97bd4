"""Records that were sent again after a client gave up waiting, so that the broker cannot know them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.decoders.records.reader import read_records
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.record_sets import record_sets
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.producing.produce_parts import produce_results
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.digest import blake2b, digest_of
from kdissect.model.record_batch import CODEC_MASK, NO_PRODUCER_ID, RecordBatch
from kdissect.rules.views.connection_view import LATE_NS
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.offset_runs import OffsetRuns
from kdissect.stats.by_producer.written_offsets import PartitionOf, WrittenOffsets
from kdissect.stats.client import Client, client_of

WAITED_NS = 500_000_000  # less is a client that ends
BATCHES_KEPT = 10_000  # 200 bytes each
RESENDS_KEPT = 1_000
WAITING_KEPT = 1_000  # clients that gave up, whose next Produces are looked at
_SPANS_KEPT = 100  # of offsets that others wrote meanwhile to one partition
_NEXT = 20  # of them: a retry comes first, with few in flight before it
_RECORDS = 500  # of a batch that are compared with later ones

Place = tuple[str | bytes, int]
"""Topic, by name or id, and partition."""
_Speaker = tuple[str, str | None, str]
"""Capture set, client id and host: a retry may come on another connection."""


class Attempt(NamedTuple):
    """A Produce that was answered late, or not at all (`answered_ns` None)."""

    connection: ConnectionInfo
    answered_ns: int | None

    @property
    def is_written(self) -> bool:
        """Whether the broker says so."""
        return self.answered_ns is not None

    def is_known_at(self, time_ns: int) -> bool:
        """Return whether the client had the response at a time: then it means to write the same once more.

        Call it when the capture is over: the connection may have been closed before the response came.
        """
        close = self.connection.close
        if self.answered_ns is None or self.answered_ns > time_ns:
            return False
        return close is None or close.by != "client" or close.time_ns >= self.answered_ns


class Sent(NamedTuple):
    """Sender of a batch that was answered late or not at all, and the producer."""

    producer: tuple[int, int, int]
    """Producer id, epoch, sequence."""
    packets: Packets
    attempt: Attempt


class Resend(NamedTuple):
    """Records that were sent again and written. `is_written`: the broker says that the first were, too.

    `has_no_room`: all offsets from the last one that was confirmed before the first attempt was sent to what
    the client wrote after the second attempt belong to batches that responses confirm, of any producer, so
    that the first attempt was not written. `has_fitting_gap`: among these offsets is a gap that no response
    confirms, as long as the first attempt.
    """

    client: Client
    topic: str
    records: int
    has_id: bool
    first: Packets
    again: Packets
    attempt: Attempt
    is_written: bool = False
    has_no_room: bool = False
    has_fitting_gap: bool = False


def _confirmed_offsets() -> OffsetRuns:
    return OffsetRuns(_SPANS_KEPT)


class _GivenUp:
    """An abandoned Produce of a client: its records by place, and the number of further Produces to check.

    `ends` are offsets that the records would have if no other client wrote since. `next` has the retries that
    are there, by number in `Resends.found`, with the first offset and the one that follows: a broker that was
    stopped may write the first attempt after them.
    """

    __slots__ = ("attempt", "counts", "ends", "left", "next", "packets", "records")

    def __init__(self, packets: Packets, attempt: Attempt) -> None:
        self.left = _NEXT
        self.packets = packets
        self.attempt = attempt
        self.records: dict[Place, frozenset[bytes]] = {}
        self.counts: dict[Place, int] = {}
        self.ends: dict[Place, int] = {}
        self.next: dict[Place, tuple[int, int, int]] = {}


class Resends:
    """Takes Produces as they end, and promptly answered ones only while `waits`."""

    def __init__(self, names: TopicNames, written: WrittenOffsets) -> None:
        self._names = names
        self._written = written
        self._seen: Table[tuple[str, str | bytes, int, bytes], Sent] = Table(BATCHES_KEPT)
        self._given_up: Table[_Speaker, _GivenUp] = Table(WAITING_KEPT)
        self._confirmed: Table[PartitionOf, OffsetRuns] = Table(WAITING_KEPT)
        """Offsets that any client wrote to partitions of `_given_up` since."""
        self.found: list[Resend] = []
        self.unsafe: list[Resend] = []
        """Batches without a producer id that a client gave up waiting for: a retry writes them again."""

    @property
    def retries(self) -> list[Resend]:
        """Records that were sent again before the client had the response to the first attempt."""
        return [one for one in self.found if not one.attempt.is_known_at(one.again.time_ns)]

    @property
    def waits(self) -> bool:
        """Whether each Produce that comes is of interest: somebody gave up, and may try again."""
        return bool(len(self._given_up))

    def add(self, exchange: Exchange) -> None:
        """Take a Produce that ended."""
        request, response = exchange.request, exchange.response
        if request is None:
            return
        view = ExchangeView(exchange)
        if view.request is None or not getattr(view.request, "acks", 0):
            return
        if response is None:
            attempt = Attempt(view.info, None)
            self._look(view, attempt)
            self._remember(view, (exchange.given_up_ns or 0) >= WAITED_NS, attempt)
        elif not exchange.response_summary().errors:
            late_ns = response.time_ns - request.end_time_ns
            attempt = Attempt(view.info, response.time_ns)
            self._confirm(exchange)
            self._come_again(view)
            if late_ns >= LATE_NS:
                self._look(view, attempt)
            if late_ns >= WAITED_NS:  # it may have given up before that came
                self._remember(view, False, attempt)

    def _remember(self, view: ExchangeView, gave_up: bool, attempt: Attempt) -> None:
        """Remember the records whose sender does not know that they are written, and may send them again."""
        packets = packets_of(view.evidence)
        given_up = _GivenUp(packets, attempt)
        for topic, partition, batch in _batches(view.exchange):
            if batch.producer_id != NO_PRODUCER_ID:
                continue
            given_up.records[topic, partition] = _records(batch)
            given_up.counts[topic, partition] = batch.count or 0
            written = self._written.of((view.info.scope, topic, partition))
            if not attempt.is_written and written is not None and written.time_ns <= view.sent_ns:
                given_up.ends[topic, partition] = written.end
                self._confirmed.get_or((view.info.scope, topic, partition), _confirmed_offsets)
            if gave_up and len(self.unsafe) < RESENDS_KEPT:
                records = batch.count or 0
                self.unsafe.append(self._resend(view, topic, batch, records, packets, packets, attempt))
        if given_up.records:
            self._given_up.put(_speaker(view), given_up)

    def _confirm(self, exchange: Exchange) -> None:
        """Note the offsets that a response confirms, in partitions of abandoned Produces."""
        if not len(self._confirmed):
            return
        scope = exchange.connection.scope
        records = Counter[Place]()
        for topic, partition, batch in _batches(exchange):
            records[topic, partition] += batch.count or 0
        for place, base in _base_offsets(exchange).items():
            spans = self._confirmed.get((scope, *place))
            if spans is not None and base >= 0 and records[place] > 0:
                spans.add(base, base + records[place] - 1)

    def _come_again(self, view: ExchangeView) -> None:
        """Hold what a client sends against what it gave up waiting for."""
        speaker = _speaker(view)
        before = self._given_up.peek(speaker)
        if before is None:
            return
        before.left -= 1
        bases = _base_offsets(view.exchange)
        for topic, partition, batch in _batches(view.exchange):
            base = bases.get((topic, partition))
            retried = before.next.pop((topic, partition), None)
            if retried is not None and base is not None:
                number, again_at, follows = retried
                end = before.ends[topic, partition]
                spans = self._confirmed.get((view.info.scope, topic, partition))
                if spans is not None:
                    gaps = spans.gaps(end, again_at - 1) + spans.gaps(follows, base - 1)
                    self.found[number] = self.found[number]._replace(
                        has_no_room=end <= again_at and follows <= base and not gaps,
                        has_fitting_gap=before.counts[topic, partition] in gaps,
                    )
            first = before.records.get((topic, partition))
            same = 0 if first is None else len(first & _records(batch))
            if same and len(self.found) < RESENDS_KEPT:
                del before.records[topic, partition]
                again = packets_of(view.evidence)
                one = self._resend(view, topic, batch, same, before.packets, again, before.attempt)
                if base is not None and (topic, partition) in before.ends:
                    before.next[topic, partition] = len(self.found), base, base + (batch.count or 0)
                self.found.append(one)
        if not before.left or not (before.records or before.next):
            self._given_up.pop(speaker)
            if not self.waits:
                self._confirmed = Table(WAITING_KEPT)

    def _look(self, view: ExchangeView, attempt: Attempt) -> None:
        """Compare a batch of an idempotent producer with earlier batches that have equal records."""
        for topic, partition, batch in _batches(view.exchange):
            if batch.producer_id == NO_PRODUCER_ID:
                continue
            key = view.info.scope, topic, partition, _digest(batch)
            now, known = Sent(_as(batch), packets_of(view.evidence), attempt), self._seen.peek(key)
            self._seen.put(key, now)
            if known is None or len(self.found) >= RESENDS_KEPT:
                continue
            if known.producer == now.producer:
                continue  # the broker knows it by its sequence
            first, again = sorted((known, now), key=lambda sent: sent.packets.time_ns)
            if first.attempt.is_written or again.attempt.is_written:
                both = first.attempt.is_written and again.attempt.is_written
                records = batch.count or 0
                self.found.append(
                    self._resend(
                        view, topic, batch, records, first.packets, again.packets, first.attempt, both
                    )
                )

    def _resend(
        self,
        view: ExchangeView,
        topic: str | bytes,
        batch: RecordBatch,
        records: int,
        first: Packets,
        again: Packets,
        attempt: Attempt,
        is_written: bool | None = None,
    ) -> Resend:
        name = topic if isinstance(topic, str) else self._names.name(view.info, topic)
        text = name or (topic if isinstance(topic, str) else topic_id_text(topic))
        has_id = batch.producer_id != NO_PRODUCER_ID
        both = attempt.is_written if is_written is None else is_written
        return Resend(client_of(view), text, records, has_id, first, again, attempt, both)


def _speaker(view: ExchangeView) -> _Speaker:
    client = client_of(view)
    return view.info.capture_set, client.client_id, client.address


def _batches(exchange: Exchange) -> list[tuple[str | bytes, int, RecordBatch]]:
    found = []
    for records in record_sets(exchange):
        field = records.records_field
        topic = field.topic if field.topic is not None else field.topic_id or b""
        found += [(topic, field.partition or 0, batch) for batch in records.found.batches]
    return found


def _base_offsets(exchange: Exchange) -> dict[Place, int]:
    """Return the offsets that a response gives to what was written, by partition."""
    results = produce_results(exchange) or ()
    return {(topic, number): base for topic, rows in results for number, error, base in rows if not error}


def _as(batch: RecordBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence


def _records(batch: RecordBatch) -> frozenset[bytes]:
    """Return digests of a batch's records, whatever else is in it: a client may build another batch from
    them.
    """
    return frozenset(
        digest_of((one.timestamp, one.key, one.value)) for one in read_records(batch, most=_RECORDS).records
    )


def _digest(batch: RecordBatch) -> bytes:
    """By what is in a batch, whoever sends it."""
    digest = blake2b(digest_size=16)
    marks = batch.attributes & CODEC_MASK, batch.base_timestamp, batch.max_timestamp, batch.count
    digest.update(repr(marks).encode())
    digest.update(batch.data[batch.records_start : batch.end])
    return digest.digest()
