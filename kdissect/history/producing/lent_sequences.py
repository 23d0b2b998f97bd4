"""Sequences of producers that the compiled part goes on with (native/src/transfers/sequences.rs)."""

from __future__ import annotations

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import PartitionKey
from kdissect.history.fact import answer_of
from kdissect.history.lent_connections import LentConnections
from kdissect.history.machine import nothing_lent
from kdissect.history.producing.producer import Sent
from kdissect.history.producing.producers import ProducerKey, Producers
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo


class LentSequences:
    """Producer state that the native engine owns. The machine reclaims it before it reads it. Compiled only.

    `rows` takes batches that come next (`Producers.passes`), of producers and partitions that the machine
    knows, and leaves all others as they are.
    """

    def __init__(self, machine: Producers, connections: LentConnections) -> None:
        self._machine = machine
        self._connections = connections
        self._clients: dict[str | None, int] = {}
        self._producers: dict[ProducerKey, int] = {}
        self._sequences: dict[tuple[ProducerKey, PartitionKey], int] = {}
        self.rows = native.Sequences(self.numbers_of, self._losses_of, self._sequence_of)

    @property
    def client_ids(self) -> list[str | None]:
        """The clients by their numbers."""
        return [*self._clients]

    def numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int]:
        """Return the numbers of a client and its connection."""
        self._machine.have_back = self.take
        return self._clients.setdefault(client_id, len(self._clients)), self._connections.of(info)

    def _losses_of(self, connection: int) -> int:
        return self._machine.losses_on(self._connections.infos[connection].id)

    def _sequence_of(
        self, connection: int, producer_id: int, topic: str | bytes, partition: int
    ) -> native.SequenceRow | None:
        key = self._connections.infos[connection].scope, producer_id
        producer = self._machine.producers.peek(key)
        here = None if producer is None else producer.partitions.peek((topic, partition))
        if here is None or here.epoch is None or not here.recent:
            return None
        last = here.recent[-1]
        return (
            self._sequences.setdefault((key, (topic, partition)), len(self._sequences)),
            self._producers.setdefault(key, len(self._producers)),
            here.epoch, here.losses, (last.base_sequence, last.last_offset_delta), here.next_offset,
            [answer_of(sent.evidence) for sent in here.recent],
        )  # fmt: skip

    def take(self) -> None:
        """Hand the machine all that passed, and forget the numbers."""
        self._machine.have_back = nothing_lent
        producers, clients, sequences = self.rows.take()
        client_ids, producer_keys = self.client_ids, [*self._producers]
        keys, states = [*self._sequences], self._machine.producers
        for number, batches, records in producers:
            producer = states.get(producer_keys[number])
            assert producer is not None  # no code removed it meanwhile
            producer.batches += batches
            producer.records += records
        for number, client, count in clients:
            producer = states.peek(producer_keys[number])
            assert producer is not None
            producer.client(client_ids[client], count)
        for number, next_offset, sent in sequences:
            key, partition = keys[number]
            producer = states.peek(key)
            here = None if producer is None else producer.partitions.get(partition)
            assert here is not None
            here.next_offset = next_offset
            for base, last_delta, exchange, is_answered in sent:
                evidence = self._connections.evidence(apis.PRODUCE, exchange)
                here.append(Sent(base, last_delta, evidence, 0 if is_answered else None))
        self._connections.clear()
        self._clients.clear()
        self._producers.clear()
        self._sequences.clear()
