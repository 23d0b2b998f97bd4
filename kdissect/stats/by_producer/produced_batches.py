"""Produces that the compiled part counts (native/src/transfers/produced_batches.rs), until they are taken."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import PartitionKey
from kdissect.history.history import History
from kdissect.history.producing.producer import Sent
from kdissect.history.producing.producers import ProducerKey, Producers
from kdissect.history.producing.transactions import Transactions
from kdissect.history.topic_names import tells_names
from kdissect.history.transfer_rows import transfer_rows
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.transfers import COUNTED, ENOUGH, LEFT, Connections, Way

_WATCHED = (Producers.api_keys or frozenset()) | (Transactions.api_keys or frozenset())


class ProducedBatches:
    """Counts what `ProducerTraffic` does of Produces that no machine has anything to tell of.

    Producers and partitions are those that the machine knows: new ones are Python's. `count` takes how many
    batches without a producer id a client sent, `know` each connection that is met.
    """

    def __init__(
        self,
        history: History,
        count: Callable[[str | None, int], None],
        know: Callable[[ConnectionInfo], None],
    ) -> None:
        self._machine = history.producers
        self._count = count
        self._know = know
        self._connections = Connections(history)
        self._clients: dict[str | None, int] = {}
        self._producers: dict[ProducerKey, int] = {}
        self._sequences: dict[tuple[ProducerKey, PartitionKey], int] = {}
        self._batches = native.ProducedBatches()
        self._asked = (
            _way_of, self._numbers_of, self._connections.due_of, self._losses_of, self._sequence_of,
        )  # fmt: skip
        self._is_counting = False

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Count exchanges of a block from one on; gives the next that is Python's, or how many there are."""
        self._is_counting = True
        done = ENOUGH
        while done not in (LEFT, COUNTED) and start < len(block):
            start, done = self._batches.count_block(block, start, self._asked)
            if done & ENOUGH:
                self.take()
        return start

    def pass_by(self, exchange: Exchange) -> bool:
        """Have an exchange go by that is about no producer, and comes in its turn; False: Python has to."""
        info, api_key = exchange.connection, exchange.api_key
        if not self._is_counting or info.same_as is not None or api_key is None or api_key in _WATCHED:
            return False
        return self._batches.pass_by(self._connections.of(info), exchange.ordinal, self._connections.due_of)

    def _numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
        if info.same_as is not None:
            return None
        self._know(info)
        return self._clients.setdefault(client_id, len(self._clients)), self._connections.of(info)

    def _losses_of(self, connection: int) -> int:
        return self._machine.losses_on(self._connections.infos[connection].id)

    def _sequence_of(
        self, connection: int, producer_id: int, topic: str | bytes, partition: int
    ) -> native.SequenceRow | None:
        key = self._connections.infos[connection].capture_set, producer_id
        producer = self._machine.producers.peek(key)
        here = None if producer is None else producer.partitions.peek((topic, partition))
        if here is None or here.epoch is None or not here.recent:
            return None
        last = here.recent[-1]
        return (
            self._sequences.setdefault((key, (topic, partition)), len(self._sequences)),
            self._producers.setdefault(key, len(self._producers)),
            here.epoch, here.losses, (last.base_sequence, last.last_offset_delta),
            [sent.evidence.answered_ns for sent in here.recent],
        )  # fmt: skip

    def take(self) -> None:
        """Have the machine and `count` take everything that was counted."""
        if not self._is_counting:
            return
        due, without_id, producers, clients, sequences = self._batches.take()
        client_ids, producer_keys = [*self._clients], [*self._producers]
        keys, states = [*self._sequences], self._machine.producers
        self._connections.pass_to(due)
        for client, count in without_id:
            self._count(client_ids[client], count)
        for number, batches, records in producers:
            producer = states.get(producer_keys[number])
            assert producer is not None  # nobody took it away meanwhile
            producer.batches += batches
            producer.records += records
        for number, client, count in clients:
            producer = states.peek(producer_keys[number])
            assert producer is not None
            producer.client(client_ids[client], count)
        for number, sent in sequences:
            key, partition = keys[number]
            producer = states.peek(key)
            here = None if producer is None else producer.partitions.get(partition)
            assert here is not None
            for base, last_delta, exchange, is_answered in sent:
                evidence = self._connections.evidence(apis.PRODUCE, exchange)
                here.append(Sent(base, last_delta, evidence, 0 if is_answered else None))
        self._clear()

    def _clear(self) -> None:
        self._connections.clear()
        self._clients.clear()
        self._producers.clear()
        self._sequences.clear()
        self._is_counting = False


def _way_of(api_key: int, version: int) -> Way:
    """Produces are counted, where the version is known; what is about no producer is passed by."""
    if api_key == apis.PRODUCE:
        return transfer_rows(api_key, version) or False
    return api_key not in _WATCHED and not tells_names(api_key)
