"""`transaction-timeout`: the coordinator ended a transaction that was open for longer than its timeout."""

from __future__ import annotations

from kdissect.causes.cause import clients_text, quoted
from kdissect.causes.evidence.evidence import Errors, Evidence, Row
from kdissect.causes.producers.fenced_producer import FencedProducer, users
from kdissect.engine.times import ns_of
from kdissect.model.cause import Severity
from kdissect.report.quantities import duration

_MS = 1_000_000


class TransactionTimeout(FencedProducer):
    """A producer that learns, late, that its transaction was aborted."""

    id = "transaction-timeout"
    title = "A transaction takes longer than its timeout"
    severity = Severity.DATA
    help = (
        "Raise transaction.timeout.ms of the producer (up to transaction.max.timeout.ms of the brokers), or"
        " commit more often. If the coordinator aborted the transaction, the program has to write its"
        " records again."
    )
    cites = (
        "KIP-98 Motivation",
        "org.apache.kafka.clients.producer.ProducerConfig#TRANSACTION_TIMEOUT_CONFIG",
    )

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """One client alone uses the id, and its transaction was older than its timeout at the error."""
        return bool(self._overdue(errors, seen))

    def sentence(self, errors: Errors) -> str:
        """Return which id; `not_surer` says for how long."""
        ids, names = quoted(errors.names("txn")), " and ".join(errors.times)
        return (
            f"{clients_text(errors.clients)} used transactional id {ids} in a transaction that was open for"
            f" longer than its timeout, and was refused with {names}."
        )

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Return the times."""
        open_ns, timeout_ns = self._overdue(errors, seen)[0]
        return (
            f"it was open for {duration(open_ns)} and its timeout is {duration(timeout_ns)}, but the packets"
            " do not show that the coordinator aborted it"
        )

    @staticmethod
    def _overdue(errors: Errors, seen: Evidence) -> list[tuple[int, int]]:
        rows = seen.producers["transactional_ids"]
        found = (
            overdue(row, errors.seen.first_ns)
            for row in rows
            if row["transactional_id"] in errors.names("txn")
        )
        return [one for one in found if one is not None]


def overdue(row: Row, at_ns: int) -> tuple[int, int] | None:
    """For how long the transaction of an id was open at a time, and its timeout; None if it was no longer.

    Only of an id that one client alone uses. The error itself ends a transaction, too.
    """
    if row["taken"] != 1 or len(users(row)) != 1:
        return None
    began = [
        ns_of(one["began"])
        for one in row["transactions"]
        if one["began"] is not None and (one["ended"] is None or ns_of(one["ended"]) >= at_ns)
    ]
    open_ns = at_ns - max((time_ns for time_ns in began if time_ns <= at_ns), default=at_ns)
    timeout_ns: int = row["timeout_ms"] * _MS
    return (open_ns, timeout_ns) if open_ns > timeout_ns else None
