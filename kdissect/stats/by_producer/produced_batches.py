"""Produces that the native engine counts (native/src/transfers/produced_batches.rs), until Python takes
them.
"""

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
    """Counter for `ProducerTraffic` of Produces without facts for a state machine.

    Producers and partitions are entries of the machine. Python code adds new ones. `count` takes the number
    of batches without a producer id of a client, `written` their offsets, `know` each new connection.
    `logged` receives the scopes with Produces of a request log.
    """

    def __init__(
        self,
        history: History,
        names: TopicNames,
        count: Callable[[str | None, int], None],
        know: Callable[[ConnectionInfo], None],
        written: WrittenOffsets,
        logged: set[str],
    ) -> None:
        self._names = names
        self._count = count
        self._know = know
        self._written = written
        self._logged = logged
        self._connections = Connections(history)
        self._sequences = LentSequences(history.producers, self._connections)
        self._batches = native.ProducedBatches(self._sequences.rows)
        self._asked = self._way_of, self._numbers_of, self._connections.due_of
        self._is_counting = False

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Count exchanges of a block from `start`. Return the next one that is for Python, or the block's
        length.
        """
        self._is_counting = True
        done = ENOUGH
        while done not in (LEFT, COUNTED) and start < len(block):
            start, done = self._batches.count_block(block, start, self._asked)
            if done & ENOUGH:
                self.take()
        return start

    def pass_by(self, exchange: Exchange) -> bool:
        """Skip an exchange in its turn that names no producer. Return False if Python has to take it."""
        info, api_key = exchange.connection, exchange.api_key
        if not self._is_counting or info.same_as is not None or api_key is None or api_key in _WATCHED:
            return False
        return self._batches.pass_by(self._connections.of(info), exchange.ordinal, self._connections.due_of)

    def _way_of(self, api_key: int, version: int) -> Way:
        """Return the way to count Produces, if the version is known. Skip exchanges that are about no
        producer.
        """
        if api_key == apis.PRODUCE:
            return transfer_rows(api_key, version) or False
        return api_key not in _WATCHED and way_past(self._names, api_key)

    def _numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
        if info.same_as is not None:
            return None
        self._know(info)
        return self._sequences.numbers_of(info, client_id)

    def catch_up(self) -> None:
        """Add the counts to the history and `count`, before an event that comes in its turn.

        Sequences stay native-owned: the machine reclaims them before it reads them. It returns only a large
        number of counts.
        """
        if not self._is_counting:
            return
        self._is_counting = False
        due, without_id, topics, written, logged = self._batches.take()
        self._connections.pass_to(due)
        for number, partition, end, time_ns in written:
            connection, topic = topics[number]
            where = self._connections.infos[connection].scope, topic, partition
            self._written.add(where, Written(end, time_ns))
        self._logged.update(self._connections.infos[number].scope for number in logged)
        client_ids = self._sequences.client_ids
        for client, count in without_id:
            self._count(client_ids[client], count)
        if len(self._connections.infos) >= _MOST_CONNECTIONS:
            self._sequences.take()

    def take(self) -> None:
        """Have the machine and `count` take everything that was counted."""
        self.catch_up()
        self._sequences.take()
