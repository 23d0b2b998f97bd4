"""Delays of records from all exchanges: which Produce wrote them, which Fetches brought them, which commits
pass them.

The native engine takes most exchanges from blocks. Python reads the remaining ones, into the same state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import iter_records
from kdissect.engine.records.compiled_records import BATCH_QUESTIONS
from kdissect.engine.records.logged_sizes import logged_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.transfer_rows import delay_rows
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.member_rows import member_rows
from kdissect.history.producing.produce_parts import produce_results
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import is_compiled, native
from kdissect.model.record_batch import RecordBatch
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.sketches.distribution import bin_multiplier
from kdissect.stats.by_delay.delay_state import (
    ABORTED,
    BATCHES_KEPT,
    CONTROL,
    MOST_OFFSET,
    READERS_KEPT,
    TRANSACTIONAL,
    DelayState,
    ReadBatch,
    ReaderRow,
    ReadPartition,
    Run,
    runs_of,
)
from kdissect.stats.by_group.group_links import ClientKey, GroupLinks, client_key_of
from kdissect.stats.client import Client, client_named, is_follower, text_of
from kdissect.stats.transfers import Named, Way, way_past
from kdissect.stats.watermarks import refused_partitions, topic_of

CLIENTS_KEPT = 20_000
_TOPICS_KEPT = 10_000
_BROKERS_KEPT = 10_000
_TRANSFERS = frozenset({apis.PRODUCE, apis.FETCH})
_COMMITS = frozenset({apis.OFFSET_COMMIT, apis.TXN_OFFSET_COMMIT})
_ALL_IN_SYNC = -1  # acks
_READ_COMMITTED = 1  # isolation_level
_ABORT = 0  # the type of a marker: ControlRecordType
_OLD_MAGIC = 1
TopicKey = tuple[str, str]
"""Identity (`stats.transfers.topic_key`) and scope (`session.identities`)."""
Producer = tuple[str, Client]
"""Scope, and the client as its connections name it when they are over."""


class Clock(NamedTuple):
    """Written records of a producer: how many in all, without a time, too old, after their Produce. Its clock
    is ahead by `ahead` nanoseconds at least, and behind by `behind` at most (None: not known).
    """

    records: int
    without: int
    old: int
    early: int
    ahead: int
    behind: int | None

    def joined(self, other: Clock) -> Clock:
        """Return the clock of the records of both."""
        known = [behind for behind in (self.behind, other.behind) if behind is not None]
        return Clock(
            self.records + other.records,
            self.without + other.without,
            self.old + other.old,
            self.early + other.early,
            max(self.ahead, other.ahead),
            min(known, default=None),
        )


class DelayTraffic:
    """Collector of delays: pass every event to `add`, then `finish`.

    `batches` and `readers` bound the state.
    """

    def __init__(self, names: TopicNames, batches: int = BATCHES_KEPT, readers: int = READERS_KEPT) -> None:
        self._names = names
        self.groups = GroupLinks()
        self.clients: list[ClientKey] = []
        self.topics: list[Named] = []
        self.has_logs = False
        """Whether a request log, which has no records, is part of the input."""
        self._client_numbers: dict[ClientKey, int] = {}
        self._topic_numbers: dict[TopicKey, int] = {}
        self._members: dict[tuple[str, str], list[int]] = {}
        """Clients by scope and a group that they act for, as of `_members_at`."""
        self._members_at = (0, 0)
        self._senders: dict[str, tuple[ConnectionInfo, dict[str | None, int]]] = {}
        """Open connections by id, and their numbers by client id."""
        self._clocks: dict[Producer, Clock] = {}
        """The clocks of connections that are over."""
        self._client_of: list[int] = []
        """By number of a connection."""
        self._brokers: dict[tuple[str, str], int] = {}
        self._infos: list[ConnectionInfo] = []
        self._identities: KnownIdentities | None = None
        self._changes = self._changes_now()
        self._native = (
            native.Delays(
                batches,
                readers,
                bin_multiplier(),
                tuple(BATCH_QUESTIONS[:5]),
                self._topic_at,
                self._client_of.__getitem__,
            )
            if is_compiled
            else None
        )
        self._state: DelayState | native.Delays = self._native or DelayState(batches, readers)

    @property
    def forgotten(self) -> int:
        """Reads that did not fit."""
        return self._state.forgotten

    @property
    def unplaced(self) -> int:
        """Written records whose offsets no response contains."""
        return self._state.unplaced

    @property
    def left(self) -> int:
        """Written batches that left the window."""
        return self._state.left

    def readers(self) -> list[ReaderRow]:
        """Return what each client read of each partition."""
        if isinstance(self._state, DelayState):
            return self._state.readers()
        return [
            ReaderRow(*where, *counts, *distributions, *stages, *lag)
            for where, counts, distributions, stages, lag in self._state.readers()
        ]

    def clocks(self) -> dict[Producer, Clock]:
        """Return the clocks of producers."""
        open_ones = {
            number: (info, client_id)
            for info, numbers in self._senders.values()
            for client_id, number in numbers.items()
        }
        found = dict(self._clocks)
        for row in self._state.clocks():
            _count_clock(found, *open_ones[row[0]], Clock(*row[1:]))
        return found

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Only wanted reads and commits count."""
        if isinstance(event, ConnectionClosed):
            self._close(event.connection)
        if not isinstance(event, Exchange):
            return
        self._names.pass_by(event)
        key = event.api_key
        if event.request is None or (key not in _TRANSFERS and key not in _COMMITS):
            if key in GroupLinks.api_keys:
                self.groups.learn(ExchangeView(event))
            return
        view = ExchangeView(event)
        if key in GroupLinks.api_keys:
            self.groups.learn(view)
        numbers = self._numbers_of(event.connection, event.client_id)
        if numbers is None:
            return
        for client in self._client_of[self._state.met :]:
            self._state.meet(client)
        self.has_logs |= event.request.logged is not None
        if key == apis.PRODUCE:
            self._produced(view, *numbers)
        elif key == apis.FETCH:
            self._fetched(view, *numbers, wanted)
        else:
            self._committed(view, *numbers, wanted)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Count exchanges of a block from `start`. Return the next one that is for `add`."""
        if self._native is None:
            return start
        self._look_for_names()
        return self._native.count_block(block, start, self._way_of, self._numbers_of, self._link_client)[0]

    def finish(self) -> None:
        """End the input."""

    def name_of(self, topic: int) -> tuple[TopicKey, str | None]:
        """Return identity, present cluster and name of a topic by its number; the name is None if it is
        unknown.
        """
        named = self.topics[topic]
        known = named if named.name is not None else Named.of(self._names, named.info, named.topic)
        return (known.identity, self._apart(known.scope)), known.name

    def cluster_of(self, scope: str) -> str:
        """Return the present cluster of a scope, or an empty text if no other was captured."""
        return self._apart(scope)

    def groups_of(self, client: int) -> tuple[str, ...]:
        """Return the groups that a client acts for."""
        return tuple(sorted(self.groups.of_client(self.clients[client])))

    def _apart(self, scope: str) -> str:
        return "" if self._identities is None else self._identities.apart(scope)

    # Numbers of connections, clients and topics

    def _changes_now(self) -> tuple[int, int]:
        identities = self._identities
        return self._names.changes, 0 if identities is None else identities.changes

    def _look_for_names(self) -> None:
        """Have topics looked up again if names or clusters changed."""
        changes = self._changes_now()
        if changes != self._changes:
            self._changes = changes
            self._brokers.clear()
            self._infos.clear()
            if self._native is not None:
                self._native.forget_names()

    def _numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
        """Return the numbers of a connection and of its broker; None if its exchanges do not count."""
        if info.same_as is not None:
            return None
        if info.identities is not None and self._identities is not info.identities:
            self._identities = info.identities
            self._changes = self._changes_now()
        _, of_connection = self._senders.setdefault(info.id, (info, {}))
        sender = of_connection.get(client_id)
        if sender is None:
            client = self._client(info, client_id)
            if client is None:
                return None
            sender = of_connection[client_id] = len(self._client_of)
            self._client_of.append(client)
        place = info.scope, info.broker_address
        broker = self._brokers.get(place)
        if broker is None:
            if len(self._infos) >= _BROKERS_KEPT:
                return None
            broker = self._brokers[place] = len(self._infos)
            self._infos.append(info)
        return sender, broker

    def _client(self, info: ConnectionInfo, client_id: str | None) -> int | None:
        key = client_key_of(info, client_id)
        found = self._client_numbers.get(key)
        if found is None and len(self.clients) < CLIENTS_KEPT:
            found = self._client_numbers[key] = len(self.clients)
            self.clients.append(key)
        return found

    def _close(self, info: ConnectionInfo) -> None:
        """Take that a connection is over: only now it is certain who wrote its records."""
        _, numbers = self._senders.pop(info.id, (info, {}))
        for client_id, number in numbers.items():
            row = self._state.take_clock(number)
            if row is not None:
                _count_clock(self._clocks, info, client_id, Clock(*row[1:]))

    def _topic_at(self, broker: int, topic: str | bytes) -> int | None:
        """Return the number of a topic that a broker names."""
        named = Named.of(self._names, self._infos[broker], topic)
        key = named.identity, named.scope
        found = self._topic_numbers.get(key)
        if found is None and len(self.topics) < _TOPICS_KEPT:
            found = self._topic_numbers[key] = len(self.topics)
            self.topics.append(named)
        return found

    def _clients_of(self, scope: str, group: str) -> list[int]:
        """Return the clients that act for a group."""
        now = self.groups.changes, len(self.clients)
        if now != self._members_at:
            self._members_at = now
            self._members = {}
            for number, key in enumerate(self.clients):
                for name in self.groups.of_client(key):
                    self._members.setdefault((key[0], name), []).append(number)
        return self._members.get((scope, group), [])

    def _link_client(self, info: ConnectionInfo, client_id: str | None, group: str) -> None:
        self.groups.link(info, client_id, group)

    def _way_of(self, api_key: int, version: int) -> Way:
        """Return how exchanges of a kind are counted."""
        if api_key in _TRANSFERS:
            return delay_rows(api_key, version) or False
        if api_key in GroupLinks.api_keys:
            return member_rows(api_key, version) or False
        return api_key not in _COMMITS and way_past(self._names, api_key)

    # Exchanges that Python reads

    def _produced(self, view: ExchangeView, sender: int, broker: int) -> None:
        exchange = view.exchange
        results = _results(exchange)
        if view.request is None or exchange.request is None or results is None:
            return
        if exchange.request.logged is not None:
            for (topic, number), (error, offset) in results.items():
                place = self._topic_at(broker, topic)
                if not error and place is not None:
                    self._state.logged((place, number), offset)
            return
        answered = 0 if exchange.response is None else exchange.response.time_ns
        is_all, times = view.request.acks == _ALL_IN_SYNC, (view.sent_ns, answered)
        unknown = (0, -1) if exchange.response is None else (-1, -1)
        for (topic, number), batches in _batches(exchange).items():
            error, offset = results.get((topic, number), unknown)
            place = self._topic_at(broker, topic)
            for batch in batches if not error and place is not None else ():
                runs, kinds = _runs(batch), (is_all, batch.is_transactional)
                self._state.produced(sender, (place or 0, number), offset, kinds, times, runs)
                if offset >= 0:
                    offset = min(offset + sum(run[1] for run in runs), MOST_OFFSET + 1)

    def _fetched(self, view: ExchangeView, sender: int, broker: int, counts: bool) -> None:
        exchange, request = view.exchange, view.request
        if request is None:
            return
        is_committed = sent(request, "isolation_level", 0) == _READ_COMMITTED
        asked = [
            (place, row.partition, row.fetch_offset)
            for topic in request.topics or ()
            if (place := self._topic_at(broker, _text(topic_of(topic)))) is not None
            for row in topic.partitions or ()
        ]
        answered = [] if view.response is None else self._answered(view, broker, asked, is_committed)
        response = exchange.response
        times = view.sent_ns, *((0, 0) if response is None else (response.time_ns, response.end_time_ns))
        self._state.fetched(sender, (is_follower(view), is_committed, counts), times, asked, answered)
        client = self._client(view.info, exchange.client_id)
        for field, size in logged_records(exchange):
            place = self._topic_at(broker, field.topic_id or field.topic or "")
            if size != 0 and field.partition is not None and place is not None and client is not None:
                self._state.lost(client, (place, field.partition))

    def _answered(
        self, view: ExchangeView, broker: int, asked: list[tuple[int, int, int]], is_committed: bool
    ) -> list[ReadPartition]:
        batches = _batches(view.exchange)
        positions = {(topic, number): offset for topic, number, offset in asked}
        found: list[ReadPartition] = []
        for topic in sent(view.response, "responses", None) or ():
            name = _text(topic_of(topic))
            place = self._topic_at(broker, name)
            for row in (topic.partitions or ()) if place is not None else ():
                if row.error_code or place is None:
                    continue
                number = row.partition_index
                of_row = batches.get((name, number), [])
                aborted = sent(row, "aborted_transactions", None) or () if is_committed else ()
                read = _read_batches(of_row, aborted, positions.get((place, number), 0))
                stable = sent(row, "last_stable_offset", -1)
                found.append((place, number, row.high_watermark, stable, [*read]))
        return found

    def _committed(self, view: ExchangeView, sender: int, broker: int, counts: bool) -> None:
        if view.request is None or view.response is None:
            return
        refused = refused_partitions(view.response.topics)
        clients = [self._client(view.info, view.exchange.client_id)]
        if view.key == apis.TXN_OFFSET_COMMIT:  # the producer sends it for the consumer
            group, scope = text_of(view.request.group_id), view.info.scope
            clients = [*self._clients_of(scope, group)]
        for topic in view.request.topics or ():
            place = self._topic_at(broker, _text(topic_of(topic)))
            for row in (topic.partitions or ()) if place is not None else ():
                if (topic_of(topic), row.partition_index) in refused or place is None:
                    continue
                for client in clients:
                    where = place, row.partition_index
                    if client is not None:
                        self._state.committed(client, where, row.committed_offset, view.sent_ns, counts)


def _count_clock(
    clocks: dict[Producer, Clock], info: ConnectionInfo, client_id: str | None, clock: Clock
) -> None:
    producer = info.scope, client_named(info, client_id)
    found = clocks.get(producer)
    if found is not None:
        clocks[producer] = found.joined(clock)
    elif len(clocks) < CLIENTS_KEPT:
        clocks[producer] = clock


def _results(exchange: Exchange) -> dict[tuple[str | bytes, int], tuple[int, int]] | None:
    """Return error and base offset by topic and partition, none without a response. None if it does not
    fit.
    """
    listed = [] if exchange.response is None else produce_results(exchange)
    if listed is None:
        return None
    return {
        (_text(name), number): (error, base)
        for name, rows in reversed(listed)
        for number, error, base in reversed(rows)
    }


def _text(topic: str | bytes) -> str | bytes:
    return topic if isinstance(topic, bytes) else text_of(topic)


def _batches(exchange: Exchange) -> dict[tuple[str | bytes, int], list[RecordBatch]]:
    """Return the batches of an exchange by topic, by its name or id, and partition."""
    found: dict[tuple[str | bytes, int], list[RecordBatch]] = {}
    for records in record_sets(exchange):
        field = records.records_field
        topic = field.topic if field.topic is not None else field.topic_id or b""
        if field.partition is not None:
            found.setdefault((_text(topic), field.partition), []).extend(records.found.batches)
    return found


def _runs(batch: RecordBatch) -> list[Run]:
    """Return the CreateTimes of a batch's records. If one of them cannot be read, no record has a time: the
    times of a damaged batch are not certain, nor which record has which.
    """
    if batch.is_control:
        return []
    read = 0

    def times() -> Iterator[int | None]:
        nonlocal read
        for record in iter_records(batch, []):
            read += 1
            yield record.timestamp if record.timestamp >= 0 else None

    runs = runs_of(times())
    if batch.count is None or read == batch.count:
        return runs
    return [(None, batch.count)] if batch.count > 0 else []


def _read_batches(batches: list[RecordBatch], aborted: Any, position: int) -> Iterator[ReadBatch]:
    """Yield the batches of a response. `aborted` are the transactions that read_committed leaves out, and
    `position` is the offset that was asked for.
    """
    waiting = sorted((row.first_offset, row.producer_id) for row in aborted)
    left_out: set[int] = set()
    for batch in batches:
        first, last, count = batch.base_offset, batch.last_offset, batch.count
        if batch.magic <= _OLD_MAGIC:
            first, count = (first, 1) if count is not None else (min(position, last), None)
        position = last + 1
        if first < 0 or last < first or last > MOST_OFFSET:
            continue
        while waiting and waiting[0][0] <= last:
            left_out.add(waiting.pop(0)[1])
        bits = CONTROL * batch.is_control | TRANSACTIONAL * batch.is_transactional
        if batch.is_control:
            marker = control_key(next((record.key for record in iter_records(batch, [])), None))
            if marker is not None and marker.type == _ABORT:
                left_out.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in left_out:
            bits |= ABORTED
        yield first, last, max(last - first + 1 if count is None else count, 0), bits
