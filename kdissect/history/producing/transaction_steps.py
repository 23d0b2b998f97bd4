"""The steps of a transaction: what each does to the state, and what it shows."""

from enum import StrEnum
from typing import Any

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, is_answered_before, is_sent_before
from kdissect.history.producing.transaction import Outcome, Transaction, TransactionalId, TransactionState
from kdissect.model.record_batch import RecordBatch

# From this version of Produce on a batch joins the transaction by itself (KIP-890).
_PRODUCE_JOINS = 12
REPEATED = "repeated"  # what a fact says of an EndTxn that asks for what came about already
# From this version of EndTxn on a transaction may have begun with a batch to any leader (KIP-890), on a
# connection that was not captured. In earlier versions its beginning goes to the broker that ends it.
_BEGUN_ELSEWHERE = 5
OF_COORDINATOR = frozenset({apis.ADD_PARTITIONS_TO_TXN, apis.ADD_OFFSETS_TO_TXN, apis.END_TXN})
"""APIs that the transaction coordinator answers."""
_FENCED = frozenset({codes.INVALID_PRODUCER_EPOCH, codes.PRODUCER_FENCED})


class TransactionFact(StrEnum):
    """Facts about transactions."""

    TAKEN = "taken"  # a producer took the transactional id; (producer id, epoch) before and now
    BEGAN = "began"
    PARTITION_ADDED = "partition_added"  # seen: (topic, partition)
    OFFSETS_ADDED = "offsets_added"  # seen: the group
    ENDED = "ended"  # seen: the outcome
    MARKED = "marked"  # markers are written (seen: True for commit)
    REFUSED = "refused"  # seen: the error code (`detail` says whether it means fencing)
    PRODUCED_BEFORE_ADDED = "produced_before_added"  # a partition was written before it was added
    JOINED_TWICE = "joined_twice"  # AddPartitionsToTxn by the client, and an API version that adds by itself
    END_WITHOUT_BEGIN = "end_without_begin"  # seen: True for commit
    PRODUCED_WHILE_ENDING = "produced_while_ending"  # a batch was sent between EndTxn and its answer
    OTHER_PRODUCER = "other_producer"  # (producer id, epoch) are not those given last
    OLD_EPOCH = "old_epoch"  # the same producer id with a lower epoch: a producer that was fenced
    EPOCH_NOT_TAKEN = "epoch_not_taken"  # a lower epoch than EndTxn gave on the same connection
    OLD_EPOCH_TAKEN = "old_epoch_taken"  # by the coordinator, which had given a higher one
    OFFSETS_BEFORE_ADDED = "offsets_before_added"  # a group's offsets were committed before it was added
    MARKER_DIFFERS = "marker_differs"  # markers say other than the producer asked


def fact(
    kind: TransactionFact, view: ExchangeView, known: TransactionalId, path: str = "", **more: Any
) -> Fact:
    """Return a fact about a transactional id."""
    return view.fact(kind, (view.info.scope, known.transactional_id), path, **more)


def identity(view: ExchangeView, known: TransactionalId, producer_id: int, epoch: int) -> list[Fact]:
    """Return whether a request names the producer id and epoch that its owner received last."""
    if known.producer_id is None or (producer_id, epoch) == (known.producer_id, known.epoch):
        return []
    given_by = known.given_by
    if given_by is not None and not is_answered_before(given_by, view.evidence):
        return []  # sent before the broker assigned that
    old = producer_id == known.producer_id and epoch < (known.epoch or 0)
    kind = TransactionFact.OLD_EPOCH if old else TransactionFact.OTHER_PRODUCER
    if old and _is_taken(view, known, epoch):
        kind = TransactionFact.OLD_EPOCH_TAKEN
    elif old and _was_given_here(view, given_by):
        kind = TransactionFact.EPOCH_NOT_TAKEN
    # Another owner may have taken the id from a coordinator whose connection was not captured.
    near = given_by is not None and given_by.connection == view.info.id
    sure = view.all_whole and (old or near or view.key != apis.PRODUCE)
    return [
        fact(
            kind, view, known, "producer_epoch", expected=(known.producer_id, known.epoch),
            seen=(producer_id, epoch), earlier=given_by, sure=sure,
        )
    ]  # fmt: skip


def _was_given_here(view: ExchangeView, given_by: Evidence | None) -> bool:
    """Return whether an EndTxn that was answered on the same connection gave the epoch: its producer received
    it.

    EndTxn may name the epoch it had before once more (KIP-890).
    """
    return (
        given_by is not None
        and given_by.api_key == apis.END_TXN
        and given_by.connection == view.info.id
        and view.key != apis.END_TXN
    )


def _is_taken(view: ExchangeView, known: TransactionalId, epoch: int) -> bool:
    """Return whether the coordinator took a lower epoch than it had given.

    Leaders and coordinators of groups may not know of the higher one yet. A broker accepts a repeated EndTxn
    with the epoch that it had before the response (KIP-890).
    """
    answer = view.response
    if answer is None or view.key not in OF_COORDINATOR:
        return False
    if view.key == apis.END_TXN and view.version >= _BEGUN_ELSEWHERE and epoch + 1 == known.epoch:
        return False
    if view.key != apis.ADD_PARTITIONS_TO_TXN:
        return not answer.error_code
    rows = [row for topic in answer.results_by_topic_v3_and_below for row in topic.results_by_partition]
    return bool(rows) and not any(row.partition_error_code for row in rows)


def before_added(view: ExchangeView, known: TransactionalId) -> list[Fact]:
    """Return whether a group's offsets are committed in a transaction that the group was not added to."""
    request, current = view.request, known.current
    who = request.producer_id, request.producer_epoch
    if known.state is TransactionState.UNKNOWN or who != (known.producer_id, known.epoch):
        return []
    if current is not None and current.epoch == who[1] and request.group_id in current.groups:
        return []
    seen = str(request.group_id)
    return [fact(TransactionFact.OFFSETS_BEFORE_ADDED, view, known, "group_id", seen=seen)]


def open_transaction(view: ExchangeView, known: TransactionalId, producer_id: int, epoch: int) -> list[Fact]:
    """Return something joins the transaction: it begins unless it is open."""
    facts = []
    current = known.current
    if current is not None:
        if (current.producer_id, current.epoch) == (producer_id, epoch) and current.wanted is None:
            return []
        facts += end_transaction(view, known, _guess(current))
    known.begin(producer_id, epoch, view.evidence)
    return [*facts, fact(TransactionFact.BEGAN, view, known, seen=(producer_id, epoch))]


def _guess(left: Transaction) -> Outcome:
    """Return how a transaction ended whose end was not seen, as the next one shows that it did."""
    if left.wanted is not None:
        return Outcome.COMMITTED if left.wanted else Outcome.ABORTED
    return Outcome.EXPIRED if left.marked is False else Outcome.UNKNOWN


def end_transaction(view: ExchangeView, known: TransactionalId, outcome: Outcome) -> list[Fact]:
    """End the open transaction."""
    over = known.end(outcome, view.evidence)
    earlier = None if over is None else over.began
    return [fact(TransactionFact.ENDED, view, known, seen=outcome, earlier=earlier)]


def ended(view: ExchangeView, known: TransactionalId, committed: bool) -> list[Fact]:
    """EndTxn was answered without an error."""
    outcome = Outcome.COMMITTED if committed else Outcome.ABORTED
    request = view.request
    if known.current is None:
        if known.state is TransactionState.UNKNOWN:
            known.begin(request.producer_id, request.producer_epoch, None).wanted = committed
        else:
            last = known.last
            again = last is not None and last.outcome is outcome and last.epoch == request.producer_epoch
            detail = REPEATED if again else ""
            sure = view.all_whole and view.version < _BEGUN_ELSEWHERE
            kind = TransactionFact.END_WITHOUT_BEGIN
            return [fact(kind, view, known, seen=committed, detail=detail, sure=sure)]
    return end_transaction(view, known, outcome)


def refused(view: ExchangeView, known: TransactionalId, error: int) -> list[Fact]:
    """Return the coordinator or a leader refused a step."""
    if not error:
        return []
    facts = []
    current = known.current
    fenced = error in _FENCED
    mine = current is not None and current.epoch == getattr(view.request, "producer_epoch", current.epoch)
    if fenced and mine and view.key != apis.INIT_PRODUCER_ID:
        facts += end_transaction(view, known, Outcome.FENCED)
        known.state = TransactionState.UNKNOWN  # the id has another owner, without an exchange so far
    refusal = fact(
        TransactionFact.REFUSED, view, known, "error_code", side="response", expected=0, seen=error,
        detail="fenced" if fenced else "",
    )  # fmt: skip
    return [*facts, refusal]


def added(view: ExchangeView, known: TransactionalId, who: tuple[int, int], results: Any) -> list[Fact]:
    """AddPartitionsToTxn: partitions whose result is no error take part from now on."""
    facts: list[Fact] = []
    errors: list[int] = []
    for topic in results or ():
        for row in topic.results_by_partition or ():
            if row.partition_error_code:
                errors.append(row.partition_error_code)
            else:
                facts += _joins(view, known, who, (topic.name, row.partition_index))
    return [*facts, *refused(view, known, errors[0])] if errors else facts


def _joins(
    view: ExchangeView, known: TransactionalId, who: tuple[int, int], partition: tuple[Any, int]
) -> list[Fact]:
    facts = open_transaction(view, known, *who)
    current = known.current
    if current is not None and partition not in current.partitions:
        current.add(*partition)
        facts.append(fact(TransactionFact.PARTITION_ADDED, view, known, seen=partition))
    return facts


def group_joins(view: ExchangeView, known: TransactionalId, group: str) -> list[Fact]:
    """Note that a group's offsets take part."""
    current = known.current
    if current is None or group in current.groups:
        return []
    current.groups.add(group)
    return [fact(TransactionFact.OFFSETS_ADDED, view, known, "group_id", seen=group)]


def batch_sent(
    view: ExchangeView, known: TransactionalId, partition: tuple[Any, int], header: RecordBatch, error: int
) -> list[Fact]:
    """Note a transactional batch that was sent to a partition's leader."""
    who = header.producer_id, header.producer_epoch
    facts = identity(view, known, *who) + _while_ending(view, known, header.producer_epoch)
    current = known.current
    if view.version < _PRODUCE_JOINS and known.state is not TransactionState.UNKNOWN:
        here = current is not None and current.epoch == header.producer_epoch
        if not (here and current is not None and partition in current.partitions):
            kind = TransactionFact.PRODUCED_BEFORE_ADDED
            facts.append(fact(kind, view, known, "topic_data", seen=partition, earlier=known.coordinated))
    elif view.version >= _PRODUCE_JOINS:
        facts += joined_twice(view, known)
    if error:
        return [*facts, *_refused_batch(view, known, header, error)]
    if view.response is not None and view.version >= _PRODUCE_JOINS:
        facts += _joins(view, known, who, partition)
    current = known.current
    if current is not None and current.epoch == header.producer_epoch:
        current.batches += 1
        current.records += max(0, header.count or 0)
        current.last_produce_ns = max(current.last_produce_ns, view.sent_ns)
    return facts


def joined_twice(view: ExchangeView, known: TransactionalId) -> list[Fact]:
    """Return a fact if the client added partitions itself: it has to keep to the versions before KIP-890."""
    current = known.current
    if current is None or not current.added_by_client:
        return []
    current.added_by_client = False  # said once a transaction
    return [
        fact(
            TransactionFact.JOINED_TWICE, view, known, "request_api_version", seen=view.version,
            earlier=current.began,
        )
    ]  # fmt: skip


def _refused_batch(view: ExchangeView, known: TransactionalId, header: RecordBatch, error: int) -> list[Fact]:
    current = known.current
    if error in _FENCED and current is not None and current.epoch != header.producer_epoch:
        return [
            fact(
                TransactionFact.REFUSED, view, known, "error_code", side="response", expected=0, seen=error,
                detail="fenced",
            )
        ]  # fmt: skip
    return refused(view, known, error)


def _while_ending(view: ExchangeView, known: TransactionalId, epoch: int) -> list[Fact]:
    last = known.last
    if last is None or last.wanted_by is None or last.epoch != epoch:
        return []
    ending, sent = last.wanted_by, view.evidence
    if not is_sent_before(ending, sent) or is_answered_before(ending, sent):
        return []
    return [fact(TransactionFact.PRODUCED_WHILE_ENDING, view, known, earlier=last.wanted_by)]


def marked(view: ExchangeView, known: TransactionalId, epoch: int, commit: bool, count: int) -> list[Fact]:
    """Note markers, which go to the partitions. Markers of KIP-890 carry the epoch after the
    transaction's.
    """
    target = known.current or known.last
    if target is None or epoch not in (target.epoch, target.epoch + 1):
        target = known.last
    if target is None or epoch not in (target.epoch, target.epoch + 1):
        return []
    target.marked = commit
    target.markers += count
    facts = [fact(TransactionFact.MARKED, view, known, "transaction_result", seen=commit)]
    if target.wanted is not None and target.wanted is not commit and target.outcome is not Outcome.FENCED:
        facts.append(
            fact(
                TransactionFact.MARKER_DIFFERS, view, known, "transaction_result", expected=target.wanted,
                seen=commit, earlier=target.wanted_by,
            )
        )  # fmt: skip
    return facts


def produce_errors(answer: Any) -> dict[tuple[Any, int], int]:
    """Return error codes of a Produce answer by partition."""
    found: dict[tuple[Any, int], int] = {}
    for topic in getattr(answer, "responses", None) or ():
        name = topic.topic_id if hasattr(topic, "topic_id") else topic.name
        for row in topic.partition_responses or ():
            found[name, row.index] = row.error_code
    return found
