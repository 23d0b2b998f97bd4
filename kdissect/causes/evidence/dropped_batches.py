"""Batches that a broker refuses with an error after which clients try again, and that do not come again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kdissect.causes.evidence.seen import packets_of
from kdissect.decoders.records.reader import read_records
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.record_sets import record_batches
from kdissect.history.exchange_view import ExchangeView, PartitionKey, losses_of, partition_of
from kdissect.history.producing.produce_parts import produce_results
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.digest import digest_of
from kdissect.model.record_batch import NO_PRODUCER_ID, Record, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, host_of

WATCHED_KEPT = 500  # batches at a time, 10 KB each
DROPPED_KEPT = 1_000
_SAMPLE = 50  # records of a batch by which it is known again
_COMPARED = 20_000  # records of a later batch
# Produces of the connection after which a batch does not come again, if LEAST_NS passed, too.
_REQUESTS = 20
_EXCHANGES = 2_000  # of all clients, within which these come
# Each exchange that is looked at costs credit, which comes back with the time of the capture: 20 a second.
_EXCHANGE_NS = 50_000_000
_CREDIT_NS = _EXCHANGES * _EXCHANGE_NS
LEAST_NS = 5_000_000_000
"""The time that a client has to send a batch again, five times the longest pause of Java clients
(`retry.backoff.max.ms`).
"""
# Retriable errors of a partition of Produce without those after which the leader has the batch, which are
# REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND (org.apache.kafka.common.protocol.Errors).
RETRIABLE = frozenset({2, 3, 5, 6, 9, 19, 56, 74, 75, 100, 103})

_Speaker = tuple[str, str | None, str]
"""Capture set, client id and host: a retry may come on another connection, or to another cluster."""


class Dropped(NamedTuple):
    """Records of a refused batch that no compared request has.

    `requests` counts later Produces that were compared, until a time (0: of all): those of the same
    connection or producer id and, after the end of the connection, of the client. Other processes may have
    the same client id. `goes_on`: one of the same connection or producer id has newer records for the same
    partition. Clients that keep the order of records do not send these while others wait.
    """

    scope: str
    client: Client
    broker: str
    topic: str
    partition: int
    error: int
    records: int
    packets: Packets
    requests: int
    until_ns: int
    goes_on: bool


class _Refused:
    """A refused batch. `left` has digests of its first records that did not come again, with their number."""

    __slots__ = (
        "answered_ns", "at", "exchanges", "goes_on", "is_closed", "last_ms", "left", "place", "producer_id",
        "records", "requests", "sample", "until_ns",
    )  # fmt: skip

    def __init__(self, at: Dropped, place: PartitionKey, batch: RecordBatch, answered_ns: int) -> None:
        self.at, self.place, self.answered_ns = at, place, answered_ns
        self.left = Counter(map(_digest, read_records(batch, most=_SAMPLE).records))
        self.sample = self.left.total()
        self.records = self.sample if batch.count is None else batch.count
        self.last_ms = batch.max_timestamp
        self.requests = self.exchanges = self.until_ns = 0
        self.producer_id = batch.producer_id
        self.goes_on = self.is_closed = False

    def pass_by(self, connection: str, batches: list[tuple[PartitionKey, RecordBatch]]) -> None:
        """Take a later Produce of the client."""
        is_own = connection == self.at.packets.connection or (
            self.producer_id != NO_PRODUCER_ID
            and all(batch.producer_id == self.producer_id for _, batch in batches)
        )
        self.requests += is_own or self.is_closed
        self.goes_on |= is_own and any(
            place == self.place and batch.base_timestamp > self.last_ms for place, batch in batches
        )

    @property
    def dropped(self) -> Dropped:
        """The records that did not come again."""
        left = self.left.total()
        records = self.records if left == self.sample else left
        return self.at._replace(
            records=records, requests=self.requests, until_ns=self.until_ns, goes_on=self.goes_on
        )


class DroppedBatches:
    """Takes Produces with errors (`refuse`), and while it `waits` all exchanges (`add`).

    Records are compared by key and value: some clients give them another timestamp when they send them again.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._watched: dict[_Speaker, list[_Refused]] = {}
        self._ended: list[_Refused] = []
        self._credit_ns = _CREDIT_NS
        self._earned_ns = 0
        self._last: tuple[str, int] | None = None
        """The exchange that was refused last: `add` takes it, too."""

    @property
    def waits(self) -> bool:
        """Whether each exchange that comes is of interest."""
        return bool(self._watched)

    def refuse(self, view: ExchangeView, client: Client) -> None:
        """Take a Produce that has a response."""
        errors = {
            (topic, number): error
            for topic, rows in produce_results(view.exchange) or ()
            for number, error, _ in rows
            if error in RETRIABLE
        }
        response = view.exchange.response
        if not errors or response is None or losses_of(view.info):
            return
        self._earn(response.end_time_ns)
        self._compare(view)
        self._last = view.info.id, view.exchange.ordinal
        watched = self._watched.get(_speaker(view), [])
        for place, batch in _batches(view.exchange) or ():
            error = errors.get(place)
            is_full = sum(map(len, self._watched.values())) >= WATCHED_KEPT
            if error is None or batch.is_transactional or is_full or self._credit_ns < _EXCHANGE_NS:
                continue  # after an error the application aborts the transaction
            topic, partition = place
            name = topic if isinstance(topic, str) else self._names.name(view.info, topic)
            text = name or (topic if isinstance(topic, str) else topic_id_text(topic))
            packets = packets_of(view.evidence)
            scope, broker = view.info.scope, view.info.broker_text
            at = Dropped(scope, client, broker, text, partition, error, 0, packets, 0, 0, goes_on=False)
            one = _Refused(at, place, batch, response.end_time_ns)
            if one.left:
                watched.append(one)
                self._watched[_speaker(view)] = watched

    def add(self, exchange: Exchange, is_produce: bool) -> None:
        """Take the next exchange, in the order in which the analyzer reports them."""
        if (exchange.connection.id, exchange.ordinal) == self._last:
            return
        if is_produce:
            self._compare(ExchangeView(exchange))
        sent_ns = 0 if exchange.request is None else exchange.request.time_ns
        self._earn(sent_ns)
        self._credit_ns -= _EXCHANGE_NS
        for speaker, watched in list(self._watched.items()):
            left = []
            for one in watched:
                one.exchanges += 1
                is_full = one.exchanges >= _EXCHANGES or self._credit_ns < _EXCHANGE_NS
                if sent_ns - one.answered_ns >= LEAST_NS:
                    one.until_ns = sent_ns if is_full or one.requests >= _REQUESTS else 0
                elif is_full:
                    continue  # the client has time left to send it again
                left.append(one)
            self._keep(speaker, left)

    def _compare(self, view: ExchangeView) -> None:
        watched = self._watched.get(_speaker(view))
        if watched is None:
            return
        exchange, sent_ns = view.exchange, view.evidence.sent_ns
        batches = _batches(exchange)
        records = None if batches is None else _records(batch for _, batch in batches)
        if batches is None or records is None or view.losses:
            self._watched.pop(_speaker(view))  # the records may be in what is missing
            return
        for one in watched:
            one.left -= records
            if sent_ns >= one.answered_ns:
                one.pass_by(view.info.id, batches)
        self._keep(_speaker(view), [one for one in watched if one.left])

    def close(self, info: ConnectionInfo) -> None:
        """Note the end of a connection.

        If it has gaps, forget batches of its client: they may have come again in one.
        """
        if self._watched and losses_of(info):
            self._watched.pop((info.capture_set, info.client_id, host_of(info)), None)
        for one in self._left():
            one.is_closed |= one.at.packets.connection == info.id

    def found(self, last_ns: int) -> Iterator[Dropped]:
        """Yield the dropped batches of a capture that ends at a time, in the order of the refusals."""
        both = [*self._ended, *(one for one in self._left() if last_ns - one.answered_ns >= LEAST_NS)]
        yield from (one.dropped for one in sorted(both, key=lambda one: one.answered_ns))

    def undecided(self, last_ns: int) -> int:
        """Return the number of refused batches that may come again after the end of the capture."""
        return sum(last_ns - one.answered_ns < LEAST_NS for one in self._left())

    def _left(self) -> Iterator[_Refused]:
        for watched in self._watched.values():
            yield from watched

    def _earn(self, time_ns: int) -> None:
        earned_ns = max(time_ns - self._earned_ns, 0)
        self._credit_ns = min(self._credit_ns + earned_ns, _CREDIT_NS)
        self._earned_ns += earned_ns

    def _keep(self, speaker: _Speaker, watched: list[_Refused]) -> None:
        ended = [one for one in watched if one.until_ns]
        self._ended += ended[: DROPPED_KEPT - len(self._ended)]
        left = [one for one in watched if not one.until_ns]
        if left:
            self._watched[speaker] = left
        else:
            self._watched.pop(speaker, None)


def _speaker(view: ExchangeView) -> _Speaker:
    return view.info.capture_set, view.exchange.client_id, host_of(view.info)


def _batches(exchange: Exchange) -> list[tuple[PartitionKey, RecordBatch]] | None:
    """Return the batches of a Produce; None if some of its records cannot be read."""
    found = []
    for field, batches in record_batches(exchange):
        if batches.faults or batches.cut:
            return None
        found += [(partition_of(field), batch) for batch in batches.batches]
    return found or None


def _records(batches: Iterable[RecordBatch]) -> Counter[bytes] | None:
    """Return how often each record is in batches; None if some records cannot be read."""
    found = Counter[bytes]()
    for batch in batches:
        records = read_records(batch, most=_COMPARED).records
        if not records or (batch.count is not None and len(records) < batch.count):
            return None
        found.update(map(_digest, records))
    return found


def _digest(record: Record) -> bytes:
    return digest_of((record.key, record.value))
