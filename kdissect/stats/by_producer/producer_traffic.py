"""Producers and transactions: a log of what `history.producers` and `history.transactions` report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import Value, present, sent
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.history import History
from kdissect.history.producing.produce_parts import ProduceParts, produce_parts
from kdissect.history.producing.producers import PRODUCERS_KEPT, ProducerFact, ProducerKey
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.history.producing.transactions import IDS_KEPT, IdKey
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import native
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.schema.error_codes import error_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.session.identities import cluster_fact
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_producer.produced_batches import ProducedBatches
from kdissect.stats.by_producer.producer_log import ProducerLog
from kdissect.stats.by_producer.written_offsets import WrittenOffsets
from kdissect.stats.client import text_of

_LOGS_KEPT = 5_000  # producers with events, and transactional ids, up to 20 KB each
CLIENTS_KEPT = 1_000  # of clients that write without an id
BROKERS_KEPT = 1_000  # of a capture set, to find names of topics in their clusters

_ROUTINE: frozenset[StrEnum] = frozenset(
    {ProducerFact.INITIALISED, ProducerFact.FIRST_SEEN, TransactionFact.BEGAN, TransactionFact.ENDED,
     TransactionFact.PARTITION_ADDED, TransactionFact.OFFSETS_ADDED, TransactionFact.MARKED}
)  # fmt: skip
_REFUSED: frozenset[StrEnum] = frozenset(
    {ProducerFact.REFUSED, ProducerFact.DUPLICATE, TransactionFact.REFUSED}
)


class ProducerTraffic:
    """Producers by id, transactional ids, and clients that write without either.

    A selective one reports only producers of a wanted exchange.
    """

    def __init__(self, names: TopicNames, is_selective: bool = False) -> None:
        self._names = names
        self.is_selective = is_selective
        self._infos: dict[str, dict[str, ConnectionInfo]] = {}
        """A connection to each broker, by capture set: one set may hold several clusters."""
        self.history = History(only=("producers", "transactions"))
        self.producer_logs: Table[ProducerKey, ProducerLog] = Table(_LOGS_KEPT)
        self.id_logs: Table[IdKey, ProducerLog] = Table(_LOGS_KEPT)
        self.without_id: Counter[str | None] = Counter()
        """Batches without a producer id, by client id."""
        self.written = WrittenOffsets()
        self.logged: set[str] = set()
        """Scopes of which a request log, which has no batches, has Produces."""
        self._wanted_producers: Table[ProducerKey, bool] = Table(PRODUCERS_KEPT)
        self._wanted_ids: Table[IdKey, bool] = Table(IDS_KEPT)
        self._batches: ProducedBatches | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the native engine's counts. The engine begins again elsewhere."""
        self._take()
        return vars(self) | {"_batches": None}

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. A selective traffic notes the producers of wanted exchanges."""
        if isinstance(event, Exchange) and self._batches is not None and self._batches.pass_by(event):
            self._names.pass_by(event)
            self._know(event.connection)
            return
        if self._batches is not None:
            self._batches.catch_up()
        parts = None
        if isinstance(event, Exchange):
            self._names.pass_by(event)
            self._know(event.connection)
            if event.api_key == apis.PRODUCE:
                if event.connection.logged is not None:
                    self.logged.add(event.connection.scope)
                parts = produce_parts(event)
                self.written.take(event, parts)
            if wanted:
                self._want(event, parts)
        self._keep(self.history.add(event, parts))

    def _know(self, info: ConnectionInfo) -> None:
        brokers = self._infos.setdefault(info.scope, {})
        if len(brokers) < BROKERS_KEPT:
            brokers.setdefault(info.broker_address, info)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block that are all wanted, from `start`. Return the next one that is for `add`.

        Not for a selective traffic.
        """
        if self._batches is None:
            self._batches = ProducedBatches(
                self.history, self._names, self._add_without_id, self._know, self.written, self.logged
            )
        return self._batches.count_block(block, start)

    def finish(self) -> None:
        """End the input."""
        self._take()
        self._keep(self.history.finish())

    def _take(self) -> None:
        if self._batches is not None:
            self._batches.take()

    def is_wanted(self, capture_set: str, producer_id: int | None, transactional_id: str | None) -> bool:
        """Return whether a wanted exchange named one of the two ids."""
        if not self.is_selective:
            return True
        if producer_id is not None and (capture_set, producer_id) in self._wanted_producers:
            return True
        return transactional_id is not None and (capture_set, transactional_id) in self._wanted_ids

    def partition_text(self, capture_set: str, topic: str | bytes, partition: int) -> str:
        """Return `TOPIC-PARTITION`, with the topic by name if it is known."""
        return f"{self.topic_text(capture_set, topic)}-{partition}"

    def cluster_facts(self, scope: str) -> dict[str, str]:
        """Return the cluster of a scope as a fact, or no fact if the capture set has only one cluster."""
        info = next(iter(self._infos.get(scope, {}).values()), None)
        return cluster_fact(info)

    def topic_text(self, capture_set: str, topic: str | bytes) -> str:
        """Return a topic by name if it is known, else by its id."""
        if isinstance(topic, bytes):
            infos = self._infos.get(capture_set, {}).values()
            name = next(filter(None, (self._names.name(info, topic) for info in infos)), None)
            topic = name or topic_id_text(topic)
        return topic

    def _want(self, exchange: Exchange, parts: ProduceParts | None) -> None:
        if exchange.api_key == apis.PRODUCE:
            self._count_without_id(exchange, parts)
        if not self.is_selective:
            return
        view = ExchangeView(exchange)
        scope = view.info.scope
        producer_ids, transactional_ids = _producers_named(view)
        for producer_id in producer_ids:
            self._wanted_producers.put((scope, producer_id), True)
        for name in transactional_ids:
            self._wanted_ids.put((scope, name), True)

    def _count_without_id(self, exchange: Exchange, parts: ProduceParts | None) -> None:
        if parts is not None:
            self._add_without_id(exchange.client_id, parts.without_id)
            return
        view = ExchangeView(exchange)
        batches = [batch for _, batch in view.batches if batch.producer_id == NO_PRODUCER_ID]
        # A message set of magic 0 or 1 has no batches: it counts as one.
        sets = {partition for partition, batch in view.batches if batch.magic < CURRENT_MAGIC}
        count = len(sets) + sum(batch.magic >= CURRENT_MAGIC for batch in batches)
        self._add_without_id(exchange.client_id, count)

    def _add_without_id(self, client_id: str | None, batches: int) -> None:
        if client_id not in self.without_id and len(self.without_id) >= CLIENTS_KEPT:
            client_id = "(others)"
        self.without_id[client_id] += batches

    def _keep(self, facts: list[Fact]) -> None:
        for fact in facts:
            if _is_routine(fact):
                continue
            error = error_name(fact.seen) if fact.kind in _REFUSED else None
            if isinstance(fact.kind, ProducerFact):
                capture_set, producer_id, *where = fact.key
                log = self.producer_logs.get_or((capture_set, producer_id), ProducerLog)
                log.add(fact, self.partition_text(capture_set, *where) if where else "", error)
            else:
                capture_set, transactional_id = fact.key[0], fact.key[1]
                written = fact.seen if fact.kind is TransactionFact.PRODUCED_BEFORE_ADDED else None
                place = "" if written is None else self.partition_text(capture_set, *written)
                log = self.id_logs.get_or((capture_set, transactional_id), ProducerLog)
                log.add(fact if written is None else fact._replace(seen=None), place, error)


def _is_routine(fact: Fact) -> bool:
    """Return whether a fact is routine: an id taken first, an epoch for each transaction."""
    if fact.kind is ProducerFact.EPOCH_RAISED:
        return fact.evidence.api_key == apis.END_TXN  # KIP-890
    return fact.kind in _ROUTINE or (fact.kind is TransactionFact.TAKEN and fact.expected is None)


_TRANSACTION = 1  # key_type of FindCoordinator (org.apache.kafka.common.requests.FindCoordinatorRequest)


class Named(NamedTuple):
    """Ids that an exchange names."""

    producer_ids: set[int]
    transactional_ids: set[str]


def _producers_named(view: ExchangeView) -> Named:
    """Return the ids in both bodies, and the ids of the batches that a Produce writes.

    The ids of batches in a Fetch do not count: it is about its consumer.
    """
    found = Named(set(), set())
    if view.key == apis.FETCH:
        return found
    if view.key == apis.PRODUCE:
        _put(found, "transactionalId", sent(view.request, "transactional_id"))
        for _, batch in view.batches:
            _put(found, "producerId", batch.producer_id)
        return found
    if view.key == apis.FIND_COORDINATOR:
        for key in _searched(view.request):
            _put(found, "transactionalId", key)
        return found
    for body in (view.request, view.response):
        for entity, held in () if body is None else _named_values(body):
            _put(found, entity, held)
    return found


def _searched(request: Any) -> list[Any]:
    """Return the transactional ids whose coordinator the request asks for."""
    if sent(request, "key_type") != _TRANSACTION:
        return []
    return sent(request, "coordinator_keys") or [sent(request, "key")]


def _named_values(value: Value) -> Iterator[tuple[str, Any]]:
    """Yield fields of a body by the kind that they name, at any depth."""
    for field, _, held in present(value):
        for item in held if isinstance(held, list) else (held,):
            if isinstance(item, Value):
                yield from _named_values(item)
            elif field.entity:
                yield field.entity, item


def _put(found: Named, entity: str, held: Any) -> None:
    if entity == "producerId" and held not in (None, NO_PRODUCER_ID):
        found.producer_ids.add(held)
    elif entity == "transactionalId" and held:
        found.transactional_ids.add(text_of(held))
