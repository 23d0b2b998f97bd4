"""Transactions: begin, partitions and offsets, end, markers, fencing (KIP-98, KIP-890).

Key: capture set, transactional id. Order: that of completion, because a transaction spans the coordinator's
connection and those to the partitions' leaders. A producer waits for the responses to one step before it
takes the next, so the transaction has the order of completion.
"""

from typing import ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.producing.produce_parts import ProduceParts
from kdissect.history.producing.transaction import Outcome, TransactionalId, TransactionState
from kdissect.history.producing.transaction_steps import (
    OF_COORDINATOR,
    TransactionFact,
    added,
    batch_sent,
    before_added,
    end_transaction,
    ended,
    fact,
    group_joins,
    identity,
    joined_twice,
    marked,
    open_transaction,
    produce_errors,
    refused,
)
from kdissect.history.state_table import Table
from kdissect.session.exchange import Exchange

IDS_KEPT = 20_000  # transactional ids, each with 1 KB of state and its last transactions
NO_PRODUCER_ID = -1  # RecordBatch.NO_PRODUCER_ID
CLIENTS_KEPT = 16
# From this version of TxnOffsetCommit on offsets join the transaction by themselves (KIP-890).
_OFFSETS_JOIN = 5
# From version 4 on brokers send AddPartitionsToTxn, for several producers at once (KIP-890).
_BROKERS_ADD = 4

IdKey = tuple[str, str]


class Transactions:
    """Transactional ids."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(
        {apis.INIT_PRODUCER_ID, apis.ADD_PARTITIONS_TO_TXN, apis.ADD_OFFSETS_TO_TXN, apis.TXN_OFFSET_COMMIT,
         apis.END_TXN, apis.WRITE_TXN_MARKERS, apis.PRODUCE}
    )  # fmt: skip
    reads_parts: ClassVar[bool] = True

    def __init__(self) -> None:
        self.ids: Table[IdKey, TransactionalId] = Table(IDS_KEPT)
        self._owner_of: Table[tuple[str, int], IdKey] = Table(IDS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange that concerns transactions."""
        request = view.request
        if request is None:
            return []
        if view.key == apis.INIT_PRODUCER_ID:
            return [] if request.transactional_id is None else self._taken(view)
        if view.key == apis.ADD_PARTITIONS_TO_TXN:
            return self._add_partitions(view)
        if view.key == apis.WRITE_TXN_MARKERS:
            return self._markers(view)
        if view.key == apis.PRODUCE:
            return self._produce(view)
        step = _STEPS[view.key]
        return step(self, view, self._id(view, request.transactional_id))

    def passes(self, _exchange: Exchange, parts: ProduceParts | None) -> bool:
        """Return True for a Produce outside of transactions."""
        return parts is not None and not parts.is_transactional

    def _id(self, view: ExchangeView, transactional_id: str) -> TransactionalId:
        key = view.info.scope, str(transactional_id)
        known = self.ids.get_or(key, lambda: TransactionalId(key[1]))
        if view.key in OF_COORDINATOR:
            known.coordinated = view.evidence
        if len(known.client_ids) < CLIENTS_KEPT:
            known.client_ids.add(view.exchange.client_id)
        return known

    def _taken(self, view: ExchangeView) -> list[Fact]:
        """Note that a producer takes the id: a transaction that is open ends."""
        request, answer = view.request, view.response
        known = self._id(view, request.transactional_id)
        if answer is None or answer.error_code:
            return refused(view, known, getattr(answer, "error_code", 0))
        facts = []
        before = known.producer_id, known.epoch
        if known.current is not None:
            itself = getattr(request, "producer_id", NO_PRODUCER_ID) != NO_PRODUCER_ID  # KIP-360
            facts += end_transaction(view, known, Outcome.ABORTED if itself else Outcome.FENCED)
        earlier, known.given_by = known.given_by, view.evidence
        self._give(view, known, answer.producer_id, answer.producer_epoch)
        known.owners += 1
        known.timeout_ms = request.transaction_timeout_ms
        known.state = TransactionState.EMPTY
        now = known.producer_id, known.epoch
        taken = fact(
            TransactionFact.TAKEN, view, known, "producer_epoch", side="response",
            expected=None if earlier is None else before, seen=now, earlier=earlier,
        )  # fmt: skip
        return [*facts, taken]

    def _give(self, view: ExchangeView, known: TransactionalId, producer_id: int, epoch: int) -> None:
        known.producer_id, known.epoch, known.given_by = producer_id, epoch, view.evidence
        scope = view.info.scope
        self._owner_of.put((scope, producer_id), (scope, known.transactional_id))

    def _add_partitions(self, view: ExchangeView) -> list[Fact]:
        request, answer = view.request, view.response
        if view.version < _BROKERS_ADD:
            known = self._id(view, request.v3_and_below_transactional_id)
            who = request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
            facts = identity(view, known, *who)
            results = getattr(answer, "results_by_topic_v3_and_below", None)
            facts += added(view, known, who, results)
            if known.current is not None and known.current.epoch == who[1]:
                known.current.added_by_client = True
            return facts
        facts = []
        results_by_id = {row.transactional_id: row for row in getattr(answer, "results_by_transaction", ())}
        for row in request.transactions or ():
            if row.verify_only:  # only asks whether the partition takes part (KIP-890)
                continue
            known = self._id(view, row.transactional_id)
            results = results_by_id.get(row.transactional_id)
            who = row.producer_id, row.producer_epoch
            facts += added(view, known, who, None if results is None else results.topic_results)
        return facts

    def _add_offsets(self, view: ExchangeView, known: TransactionalId) -> list[Fact]:
        request, answer = view.request, view.response
        facts = identity(view, known, request.producer_id, request.producer_epoch)
        if answer is None or answer.error_code:
            return [*facts, *refused(view, known, getattr(answer, "error_code", 0))]
        facts += open_transaction(view, known, request.producer_id, request.producer_epoch)
        return [*facts, *group_joins(view, known, request.group_id)]

    def _offsets(self, view: ExchangeView, known: TransactionalId) -> list[Fact]:
        request, answer = view.request, view.response
        facts = identity(view, known, request.producer_id, request.producer_epoch)
        rows = [row for topic in getattr(answer, "topics", None) or () for row in topic.partitions or ()]
        if view.version < _OFFSETS_JOIN:
            facts += before_added(view, known)
        errors = [row.error_code for row in rows if row.error_code]
        if errors or not rows:
            return [*facts, *refused(view, known, errors[0] if errors else 0)]
        if view.version >= _OFFSETS_JOIN:
            facts += joined_twice(view, known)
            facts += open_transaction(view, known, request.producer_id, request.producer_epoch)
        facts += group_joins(view, known, request.group_id)
        if known.current is not None:
            known.current.offsets += len(rows)
        return facts

    def _end_txn(self, view: ExchangeView, known: TransactionalId) -> list[Fact]:
        request, answer = view.request, view.response
        facts = identity(view, known, request.producer_id, request.producer_epoch)
        current = known.current
        if current is not None and current.epoch == request.producer_epoch:
            current.wanted, current.wanted_by = bool(request.committed), view.evidence
            if view.sent_ns < current.last_produce_ns <= (view.evidence.answered_ns or view.sent_ns):
                facts.append(fact(TransactionFact.PRODUCED_WHILE_ENDING, view, known))
        if answer is None or answer.error_code:
            return [*facts, *refused(view, known, getattr(answer, "error_code", 0))]
        facts += ended(view, known, bool(request.committed))
        if getattr(answer, "producer_epoch", -1) >= 0:  # version 5: an epoch each (KIP-890)
            self._give(view, known, answer.producer_id, answer.producer_epoch)
        return facts

    def _produce(self, view: ExchangeView) -> list[Fact]:
        transactional_id = getattr(view.request, "transactional_id", None)
        if transactional_id is None:
            return []
        known = self._id(view, transactional_id)
        errors = produce_errors(view.response)
        facts = []
        for partition, header in view.batches:
            if header.crc_is_right and header.is_transactional and not header.is_control:
                facts += batch_sent(view, known, partition, header, errors.get(partition, 0))
        return facts

    def _markers(self, view: ExchangeView) -> list[Fact]:
        facts = []
        scope = view.info.scope
        for marker in view.request.markers or ():
            owner = self._owner_of.get((scope, marker.producer_id))
            known = None if owner is None else self.ids.get(owner)
            if known is not None:
                count = sum(len(topic.partition_indexes or ()) for topic in marker.topics or ())
                facts += marked(view, known, marker.producer_epoch, bool(marker.transaction_result), count)
        return facts


_STEPS = {
    apis.ADD_OFFSETS_TO_TXN: Transactions._add_offsets,  # noqa: SLF001
    apis.TXN_OFFSET_COMMIT: Transactions._offsets,  # noqa: SLF001
    apis.END_TXN: Transactions._end_txn,  # noqa: SLF001
}
