"""Produces that the compiled part counts (native/src/transfers/produced_batches.rs), until they are taken."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.engine.transfer_rows import transfer_rows
from kdissect.history import api_keys as apis
from kdissect.history.history import History
from kdissect.history.producing.lent_sequences import LentSequences
from kdissect.history.producing.producers import Producers
from kdissect.history.producing.transactions import Transactions
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_producer.written_offsets import Written, WrittenOffsets
from kdissect.stats.transfers import COUNTED, ENOUGH, LEFT, Connections, Way, way_past

_MOST_CONNECTIONS = 1_000  # that are known by number meanwhile
_WATCHED = (Producers.api_keys or frozenset()) | (Transactions.api_keys or frozenset())


class ProducedBatches:
    """Counts what `ProducerTraffic` does of Produces that no machine has anything to tell of.

    Producers and partitions are those that the machine knows: new ones are Python's. `count` takes how many
    batches without a producer id a client sent, `written` their offsets, `know` each connection that is met.
    """

    def __init__(
        self,
        history: History,
        names: TopicNames,
        count: Callable[[str | None, int], None],
        know: Callable[[ConnectionInfo], None],
        written: WrittenOffsets,
    ) -> None:
        self._names = names
        self._count = count
        self._know = know
        self._written = written
        self._connections = Connections(history)
        self._sequences = LentSequences(history.producers, self._connections)
        self._batches = native.ProducedBatches(self._sequences.rows)
        self._asked = self._way_of, self._numbers_of, self._connections.due_of
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

    def _way_of(self, api_key: int, version: int) -> Way:
        """Produces are counted, where the version is known; what is about no producer is passed by."""
        if api_key == apis.PRODUCE:
            return transfer_rows(api_key, version) or False
        return api_key not in _WATCHED and way_past(self._names, api_key)

    def _numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
        if info.same_as is not None:
            return None
        self._know(info)
        return self._sequences.numbers_of(info, client_id)

    def catch_up(self) -> None:
        """Have the history and `count` take what was counted, before an event that comes in its turn.

        Sequences stay lent: the machine has them back before it looks at them. Only many are taken.
        """
        if not self._is_counting:
            return
        self._is_counting = False
        due, without_id, topics, written = self._batches.take()
        self._connections.pass_to(due)
        for number, partition, end, time_ns in written:
            connection, topic = topics[number]
            where = self._connections.infos[connection].scope, topic, partition
            self._written.add(where, Written(end, time_ns))
        client_ids = self._sequences.client_ids
        for client, count in without_id:
            self._count(client_ids[client], count)
        if len(self._connections.infos) >= _MOST_CONNECTIONS:
            self._sequences.take()

    def take(self) -> None:
        """Have the machine and `count` take everything that was counted."""
        self.catch_up()
        self._sequences.take()
