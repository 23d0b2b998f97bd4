"""Idempotent producers: ids, epochs and sequences per partition (KIP-98, KIP-360).

Key: capture set, producer id. Order: that of a connection's requests. A partition's batches move to another
connection only when its leader does. Sequences are counted as they were sent, so that one wrong number is one
fact and not all that follow.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from kdissect.decoders.listed_partitions import topic_namer
from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView, PartitionKey
from kdissect.history.fact import Fact, evidence_of
from kdissect.history.machine import nothing_lent
from kdissect.history.producing.produce_parts import PRODUCER_ID, BatchHeader, ProduceParts, produce_results
from kdissect.history.producing.producer import BATCHES_KEPT, PartitionSequence, Producer, Sent
from kdissect.history.state_table import Table
from kdissect.model.record_batch import CONTROL, NO_PRODUCER_ID, TRANSACTIONAL, RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

PRODUCERS_KEPT = 50_000  # a state is 1 KB and 500 bytes a partition
CONNECTIONS_KEPT = 20_000  # that gave producer ids, or had damaged batches; 100 bytes each
STATE_LOST = frozenset({codes.OUT_OF_ORDER_SEQUENCE_NUMBER, codes.UNKNOWN_PRODUCER_ID})
"""Errors of a broker that does not have the batches before, or nothing of the producer."""
FOLLOWS_TAKEN = "follows a batch that the broker took"
ALL_IN_SYNC = -1  # acks that idempotence asks for (KIP-98, org.apache.kafka.clients.producer.ProducerConfig)

_SPECIAL = TRANSACTIONAL | CONTROL

ProducerKey = tuple[str, int]
Result = tuple[int | None, int]
"""Error code and base offset of a partition."""
NO_RESULT: Result = None, -1


class ProducerFact(StrEnum):
    """Facts about producers. Sequences and epochs are expected and seen."""

    INITIALISED = "initialised"  # a new producer id
    GIVEN_TWICE = "given_twice"  # a producer id in epoch 0, by a broker that gave it before
    NOT_RAISED = "not_raised"  # the same id, and no higher epoch than its connection received before
    EPOCH_RAISED = "epoch_raised"  # the same id, a new epoch
    FIRST_SEEN = "first_seen"  # a batch of an id whose InitProducerId was not captured
    NEVER_GIVEN = "never_given"  # an id without InitProducerId, on a connection that received another
    RETRIED = "retried"  # a batch that was sent before; `detail` says what became of it
    SEQUENCE_GAP = "sequence_gap"  # higher than what comes next
    SEQUENCE_BACK = "sequence_back"  # lower than the next one, and not of a recent batch
    EPOCH_NOT_FROM_ZERO = (
        "epoch_not_from_zero"  # a partition's first batch in a new epoch, where the log has an older epoch
    )
    EPOCH_BACK = "epoch_back"  # a lower epoch than the partition had before
    OFFSET_BACK = "offset_back"  # a new batch received offsets that the producer received before
    OLD_EPOCH_TAKEN = "old_epoch_taken"  # OLD_EPOCH, by a broker that took a batch of the higher one before
    REFUSED = "refused"  # the broker did not append the batch (seen: the error code, `detail`: FOLLOWS_TAKEN)
    DUPLICATE = "duplicate"  # the broker had the batch already (DUPLICATE_SEQUENCE_NUMBER)
    TOO_MANY_IN_FLIGHT = "too_many_in_flight"  # more than a broker remembers, of one partition
    WEAK_ACKS = "weak_acks"  # idempotence without acks=all
    MIXED_FIELDS = "mixed_fields"  # a producer id without an epoch or sequence
    OTHER_TRANSACTIONAL_ID = "other_transactional_id"  # than the one for which the broker assigned the id


class Producers:
    """Producers by id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.PRODUCE, apis.INIT_PRODUCER_ID, apis.END_TXN})
    reads_parts: ClassVar[bool] = True

    def __init__(self) -> None:
        self.have_back: Callable[[], None] = nothing_lent
        """Take back sequences from the native engine (`lent_sequences`) before they are read."""
        self.producers: Table[ProducerKey, Producer] = Table(PRODUCERS_KEPT)
        self._given_on: Table[str, int] = Table(CONNECTIONS_KEPT)
        """The producer id that an open connection gave last."""
        self._damaged: Table[str, int] = Table(CONNECTIONS_KEPT)
        """Requests of a connection that were cut, and batches with a wrong checksum: their producers are
        not known.
        """

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next Produce, InitProducerId or EndTxn."""
        if view.key == apis.PRODUCE:
            return self._produce(view)
        answer = view.response
        producer_id = getattr(answer, "producer_id", NO_PRODUCER_ID)  # of EndTxn from version 5 on (KIP-890)
        if producer_id == NO_PRODUCER_ID or answer.error_code:
            return []
        return self._given(view, producer_id, answer.producer_epoch)

    def passes(self, exchange: Exchange, parts: ProduceParts | None) -> bool:
        """Return whether a Produce has batches without producer id, or one batch that comes next and is
        accepted.
        """
        if parts is None:
            return False
        if len(parts.batches) == 1:  # nearly always
            header = parts.batches[0]
            return header[PRODUCER_ID] == NO_PRODUCER_ID or self._continues(exchange, header, parts)
        return parts.without_id == len(parts.batches)

    def _continues(self, exchange: Exchange, header: BatchHeader, parts: ProduceParts) -> bool:
        """Do `_batch` for a batch without a fact to report; return False, without a change, for other
        batches.
        """
        if parts.acks != ALL_IN_SYNC or exchange.connection.anomaly_counts:
            return False
        base_offset = None
        if exchange.response is not None:
            results = produce_results(exchange)
            if results is None or len(results) != 1 or len(results[0][1]) != 1:
                return False
            ((topic, ((number, error, base_offset),)),) = results
            if error or (topic, number) != header[0]:
                return False
        self.have_back()
        info, evidence = exchange.connection, evidence_of(exchange)
        partition, bits, last_delta, producer_id, epoch, sequence, count = header
        known = None if bits & _SPECIAL else self.producers.peek((info.scope, producer_id))
        if known is None:
            return False
        here = known.partitions.peek(partition)
        losses = self._damaged.peek(info.id) or 0
        if here is None or not here.continues(epoch, sequence, losses, evidence):
            return False
        if base_offset is not None and not here.given(base_offset, last_delta):
            return False
        self.producers.get((info.scope, producer_id))  # which counts as used, and so does the partition
        known.partitions.get(partition)
        known.client(exchange.client_id)
        known.batches += 1
        known.records += max(0, count)
        here.append(Sent(sequence, last_delta, evidence, None if evidence.response is None else 0))
        return True

    def close(self, info: ConnectionInfo) -> None:
        """Forget a connection that is over."""
        self._given_on.pop(info.id)

    def _given(self, view: ExchangeView, producer_id: int, epoch: int) -> list[Fact]:
        """Take the producer id and epoch that a coordinator assigned."""
        self.have_back()
        key: ProducerKey = view.info.scope, producer_id
        self._given_on.put(view.info.id, producer_id)
        request = view.request
        transactional_id = getattr(request, "transactional_id", None)
        known = self.producers.get(key)
        fresh = known is None
        if known is None:
            known = self.producers.put(key, Producer(producer_id))
        before, earlier = known.epoch, known.given_by
        facts = []
        if view.key == apis.INIT_PRODUCER_ID and not fresh and epoch == 0:
            known.is_ambiguous = True  # a broker assigns an id once: a second cluster, or a fault
            if known.given_at == view.info.broker_address and not _is_copy(view, known):
                kind, field = ProducerFact.GIVEN_TWICE, "producer_id"
                facts.append(Fact(kind, key, view.evidence, "response", field, "", producer_id, earlier))
        elif before is not None and epoch <= before and _is_next_of_producer(view, known):
            kind, field = ProducerFact.NOT_RAISED, "producer_epoch"
            facts.append(
                view.fact(kind, key, field, side="response", expected=before, seen=epoch, earlier=earlier)
            )
        known.given_at = view.info.broker_address
        known.epoch = epoch
        known.given_epochs.add(epoch)  # at most 32,768: an epoch is an int16
        known.given_by = view.evidence
        if view.key == apis.INIT_PRODUCER_ID and epoch == 0:
            known.first_given = view.evidence, view.exchange.correlation_id, view.exchange.client_id
        known.client(view.exchange.client_id)
        if not fresh and known.transactional_id not in (None, transactional_id) and not known.is_ambiguous:
            facts.append(
                Fact(
                    ProducerFact.OTHER_TRANSACTIONAL_ID, key, view.evidence, "request", "transactional_id",
                    known.transactional_id, transactional_id, earlier, view.all_whole,
                )
            )  # fmt: skip
        known.transactional_id = transactional_id
        kind = ProducerFact.INITIALISED if fresh else ProducerFact.EPOCH_RAISED
        if fresh or before != epoch:
            facts.append(Fact(kind, key, view.evidence, "response", "producer_epoch", before, epoch, earlier))
        return facts

    def _produce(self, view: ExchangeView) -> list[Fact]:
        name = view.info.id
        if view.request is None:
            self._damage(name)
            return []
        facts = []
        results: dict[PartitionKey, Result] | None = None
        for partition, header in view.batches:
            if not header.crc_is_right:
                self._damage(name)
            elif header.producer_id != NO_PRODUCER_ID and not header.is_control:
                results = _results(view) if results is None else results
                losses = view.losses + self.losses_on(name)
                result = results.get(partition, NO_RESULT)
                facts += self._batch(_Batch(view, partition, header, *result, losses))
        return facts

    def losses_on(self, connection: str) -> int:
        """Return the number of cut requests and of batches with a wrong checksum on a connection."""
        return self._damaged.peek(connection) or 0

    def _damage(self, connection: str) -> None:
        self.have_back()
        self._damaged.put(connection, (self._damaged.get(connection) or 0) + 1)

    def _batch(self, batch: "_Batch") -> list[Fact]:
        self.have_back()
        view, header = batch.view, batch.header
        key: ProducerKey = view.info.scope, header.producer_id
        known = self.producers.get(key)
        facts = []
        if known is None:
            known = self.producers.put(key, Producer(header.producer_id))
            facts.append(batch.fact(ProducerFact.FIRST_SEEN, "producer_id", seen=header.producer_id))
            facts += self._never_given(batch)
        known.client(view.exchange.client_id)
        if not batch.error:
            known.batches += 1
            known.records += max(0, header.count or 0)
        request = view.request
        if request.acks != ALL_IN_SYNC:
            facts.append(
                batch.fact(ProducerFact.WEAK_ACKS, "acks", expected=ALL_IN_SYNC, seen=request.acks, sure=True)
            )
        if header.producer_epoch < 0 or header.base_sequence < 0:
            seen = header.producer_epoch, header.base_sequence
            return [*facts, batch.fact(ProducerFact.MIXED_FIELDS, "base_sequence", seen=seen, sure=True)]
        facts += _transactional_id(batch, known, getattr(request, "transactional_id", None))
        facts += _sequence(batch, known)
        return [*facts, *_verdict(batch, known)]

    def _never_given(self, batch: "_Batch") -> list[Fact]:
        """Return a fact if the id was not assigned on a connection that received another id: a producer keeps
        to its own.
        """
        given = self._given_on.get(batch.view.info.id)
        if given is None or given == batch.header.producer_id:  # the broker may have named its cluster since
            return []
        kind = ProducerFact.NEVER_GIVEN
        return [batch.fact(kind, "producer_id", expected=given, seen=batch.header.producer_id)]


class _Batch(NamedTuple):
    """A batch on its way: `error` is the broker's code for its partition, None without an answer.

    `base_offset` is its offset, or -1 without one. `losses` counts what of the connection was lost or damaged
    up to now.
    """

    view: ExchangeView
    partition: PartitionKey
    header: RecordBatch
    error: int | None
    base_offset: int
    losses: int

    def fact(self, kind: ProducerFact, field: str, **more: Any) -> Fact:
        key = self.view.info.scope, self.header.producer_id, *self.partition
        return self.view.fact(kind, key, f"records.{field}", **more)


def _is_next_of_producer(view: ExchangeView, known: Producer) -> bool:
    """Return whether a producer without an id asks again for its transactional id, on the connection that
    gave it the last one.
    """
    request, by = view.request, known.given_by
    if view.key != apis.INIT_PRODUCER_ID or request is None or by is None or by.connection != view.info.id:
        return False
    if request.transactional_id is None or known.transactional_id != request.transactional_id:
        return False
    is_retry = getattr(request, "producer_id", NO_PRODUCER_ID) != NO_PRODUCER_ID  # KIP-360
    return not is_retry and not getattr(request, "keep_prepared_txn", False)


def _is_copy(view: ExchangeView, known: Producer) -> bool:
    """Return whether an answer may be the one that gave the id in epoch 0 before, captured by another tap.

    The broker may have assigned later epochs since, if the clocks of the taps are far apart.
    """
    if known.first_given is None:
        return False
    given_by, *identity = known.first_given
    return (
        given_by.connection != view.info.id
        and identity == [view.exchange.correlation_id, view.exchange.client_id]
        and (given_by.api_key, given_by.api_version) == (view.key, view.version)
    )


def _transactional_id(batch: _Batch, known: Producer, transactional_id: str | None) -> list[Fact]:
    if not batch.header.is_transactional or transactional_id is None:
        return []
    before = known.transactional_id
    known.transactional_id = transactional_id
    if before in (None, transactional_id) or known.is_ambiguous:
        return []
    return [
        batch.fact(
            ProducerFact.OTHER_TRANSACTIONAL_ID, "transactional_id", expected=before, seen=transactional_id,
            earlier=known.given_by,
        )
    ]  # fmt: skip


def _sequence(batch: _Batch, known: Producer) -> list[Fact]:
    """Compare a batch with what its partition was sent before, and count on from it."""
    header, here = batch.header, known.partition_of(batch.view.info, batch.partition)
    if here.epoch is not None and header.producer_epoch < here.epoch:
        is_taken = batch.error == 0 and here.took_before(batch.view.evidence)
        kind = ProducerFact.OLD_EPOCH_TAKEN if is_taken else ProducerFact.EPOCH_BACK
        fact = batch.fact(
            kind, "producer_epoch", expected=here.epoch, seen=header.producer_epoch,
            earlier=here.last,
        )  # fmt: skip
        return [] if known.is_ambiguous else [fact]  # its sequences belong to an older life
    facts: list[Fact] = []
    if here.epoch is None or header.producer_epoch > here.epoch:
        facts += _first_of_epoch(batch, known, here)
        here.begin(header.producer_epoch)
    elif here.losses == batch.losses and not known.is_ambiguous:
        facts += _next_of_epoch(batch, known, here)
    if here.is_full(batch.view.evidence):
        kind = ProducerFact.TOO_MANY_IN_FLIGHT
        facts.append(batch.fact(kind, "base_sequence", expected=BATCHES_KEPT, seen=BATCHES_KEPT + 1))
    facts += _offset(batch, known, here)
    sent = Sent(header.base_sequence, header.last_offset_delta, batch.view.evidence, batch.error)
    here.sent(sent, batch.losses)
    return facts


def _offset(batch: _Batch, known: Producer, here: PartitionSequence) -> list[Fact]:
    """Compare a new batch's offset with earlier offsets; a batch sent again receives its own.

    With acks less than all, accepted batches may be lost with the leader.
    """
    base_offset, header = batch.base_offset, batch.header
    if batch.error != 0 or base_offset < 0 or here.find(header.base_sequence) is not None:
        return []
    before, earlier = here.next_offset, here.last_taken
    if here.given(base_offset, header.last_offset_delta):
        return []
    here.next_offset = 0
    here.given(base_offset, header.last_offset_delta)  # later batches are compared with this one
    is_certain = batch.view.request.acks == ALL_IN_SYNC and not known.is_ambiguous and not batch.losses
    if not is_certain:
        return []
    fact = batch.fact(ProducerFact.OFFSET_BACK, "", expected=before, seen=base_offset, earlier=earlier)
    return [fact._replace(side="response", path="responses.partition_responses.base_offset")]


def _first_of_epoch(batch: _Batch, known: Producer, here: PartitionSequence) -> list[Fact]:
    """Return a fact if the first batch of an epoch does not have sequence 0.

    A log that knows no epoch of a producer takes any sequence (ProducerAppendInfo#checkSequence).

    A name may be that of a new topic by now, with a new log. An id names one log.
    """
    seen, topic = batch.header.base_sequence, batch.partition[0]
    was_given = batch.header.producer_epoch in known.given_epochs
    certain = was_given and not known.partitions_forgotten and not batch.losses
    if seen == 0 or not certain or known.is_ambiguous:
        return []
    has_epoch = isinstance(topic, bytes) and here.last_taken is not None
    if not has_epoch and batch.error != codes.OUT_OF_ORDER_SEQUENCE_NUMBER:
        return []
    kind = ProducerFact.EPOCH_NOT_FROM_ZERO
    return [batch.fact(kind, "base_sequence", expected=0, seen=seen, earlier=known.given_by)]


def _next_of_epoch(batch: _Batch, known: Producer, here: PartitionSequence) -> list[Fact]:
    expected, seen = here.expected, batch.header.base_sequence
    if expected is None or seen == expected:
        return []
    before = here.find(seen)
    earlier = here.last
    if before is None and here.is_refused and here.brokers_next is not None:
        expected = here.brokers_next
        if seen == expected:  # it goes on where the broker is
            return []
    if before is not None:
        known.retries += 1
        kind, earlier = ProducerFact.RETRIED, before.evidence
    else:
        ahead = (seen - expected) & 0x7FFFFFFF < 0x40000000  # sequences wrap (DefaultRecordBatch)
        kind = ProducerFact.SEQUENCE_GAP if ahead else ProducerFact.SEQUENCE_BACK
        known.jumps += 1
    detail = "" if before is None else before.fate
    return [batch.fact(kind, "base_sequence", expected=expected, seen=seen, earlier=earlier, detail=detail)]


def _verdict(batch: _Batch, known: Producer) -> list[Fact]:
    if not batch.error:
        return []
    if batch.error == codes.DUPLICATE_SEQUENCE_NUMBER:
        known.duplicates += 1
        kind = ProducerFact.DUPLICATE
    else:
        known.refusals += 1
        kind = ProducerFact.REFUSED
    detail = FOLLOWS_TAKEN if batch.error in STATE_LOST and _follows_taken(batch, known) else ""
    fact = batch.fact(kind, "base_sequence", expected=0, seen=batch.error, sure=True, detail=detail)
    return [fact._replace(side="response", path="responses.partition_responses.error_code")]


def _follows_taken(batch: _Batch, known: Producer) -> bool:
    here = known.partition_of(batch.view.info, batch.partition)
    is_now = here.epoch == batch.header.producer_epoch
    return is_now and here.follows_taken(batch.header.base_sequence, STATE_LOST)


def _results(view: ExchangeView) -> dict[PartitionKey, Result]:
    found: dict[PartitionKey, Result] = {}
    named = topic_namer(view.key, view.version, True)
    for topic in getattr(view.response, "responses", None) or ():
        name = named(topic)
        for row in topic.partition_responses or ():
            found[name, row.index] = row.error_code, row.base_offset
    return found
