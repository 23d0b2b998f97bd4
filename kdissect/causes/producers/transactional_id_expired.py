"""`transactional-id-expired`: a coordinator dropped a transactional id while its producer was idle."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import SECOND_NS, ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.evidence.gathering import FACTS_KEPT
from kdissect.causes.producers.fenced_producer import users
from kdissect.engine.times import ns_of
from kdissect.model.cause import Severity
from kdissect.report.quantities import duration

_LEAST_NS = SECOND_NS  # a coordinator that drops an id while it is used lost its state
_INVALID_PRODUCER_ID_MAPPING = 49  # org.apache.kafka.common.protocol.Errors


class TransactionalIdExpired(ErrorCause):
    """A producer that goes on with an id that the coordinator gave it, and no longer knows."""

    id = "transactional-id-expired"
    title = "A coordinator no longer knows a transactional id"
    severity = Severity.STOPS
    codes = frozenset({_INVALID_PRODUCER_ID_MAPPING})
    help = (
        "Raise transactional.id.expiration.ms of the brokers (7 days by default) above the longest time"
        " without a transaction, or have the program initialize its transactions again after such a time."
    )
    cites = (
        "KIP-98 Motivation",
        "org.apache.kafka.common.protocol.Errors#INVALID_PRODUCER_ID_MAPPING",
    )
    explains = ("sequence-gap",)
    explains_by = frozenset({"client", "id"})

    def alike(self, key: ErrorKey) -> Hashable:
        """Return the transactional id."""
        return key.txn

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return whether one client alone uses the id, and had a transaction before."""
        return _idle_ns(errors, seen) >= _LEAST_NS

    def sentence(self, errors: Errors) -> str:
        """Return the id."""
        return (
            f"A coordinator refused {clients_text(errors.clients)} {times(errors.seen.times)} with"
            f" {' and '.join(errors.times)}: it no longer knows the producer of transactional id"
            f" {quoted(errors.names('txn'))}."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return the time without a transaction."""
        return f"The last transaction of the id had ended {duration(_idle_ns(errors, seen))} before."

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Return the doubt."""
        return "another producer with this id, which was not captured, looks the same"

    def command(self, errors: Errors) -> str:
        """Return the story of the id."""
        return f"producers {{files}} --producer '{errors.names('txn')[0]}'"


def _idle_ns(errors: Errors, seen: Evidence) -> int:
    """Return the time between the last transaction of an id and its error; 0 if it is not known, or if a
    producer took the id meanwhile.
    """
    clients, ids = {client.client_id for client in errors.clients}, errors.names("txn")
    ended = [
        ns_of(one["ended"])
        for row in seen.producers["transactional_ids"]
        if row["transactional_id"] in ids
        and row.get("cluster", "") == errors.cluster
        and users(row) <= clients
        for one in row["transactions"]
        if one["ended"] is not None
    ]
    at_ns = errors.seen.first_ns
    ended_ns = max((time_ns for time_ns in ended if time_ns <= at_ns), default=at_ns)
    cluster = seen.gathering.log.cluster
    taken = seen.facts("TransactionFact.taken")
    if len(taken) >= FACTS_KEPT and taken[-1].fact.evidence.answered_ns < at_ns:
        return 0  # later facts were not kept
    is_taken = any(
        known.fact.key[1] in ids
        and cluster(known.scope) == errors.cluster
        and ended_ns < known.fact.evidence.answered_ns <= at_ns
        for known in taken
    )
    return 0 if is_taken else at_ns - ended_ns
