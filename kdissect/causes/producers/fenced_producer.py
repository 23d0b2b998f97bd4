"""`fenced-producer`: two producers use one transactional id, and the older one is shut out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence, Row
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity

# org.apache.kafka.common.protocol.Errors
_INVALID_PRODUCER_EPOCH, _INVALID_TXN_STATE, _PRODUCER_FENCED = 47, 48, 90
# AddPartitionsToTxnManager of brokers: its client id
_OF_BROKERS = "AddPartitionsManager"
_TRANSACTIONS = frozenset({24, 25, 26, 28})  # AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit


class FencedProducer(ErrorCause):
    """A producer that was fenced by another one with its transactional id."""

    id = "fenced-producer"
    title = "Two producers use one transactional id"
    severity = Severity.STOPS
    codes = frozenset({_INVALID_PRODUCER_EPOCH, _INVALID_TXN_STATE, _PRODUCER_FENCED})
    help = (
        "Run one producer for each transactional.id: derive the id from what is unique to the instance (its "
        "partition, the pod's ordinal), and stop the old instance before the new one starts."
    )
    cites: ClassVar[tuple[str, ...]] = (
        "org.apache.kafka.clients.producer.ProducerConfig#TRANSACTIONAL_ID_CONFIG",
        "KIP-360 Motivation",
        "KIP-98 Motivation",
    )
    explains = ("hanging-transaction", "sequence-gap", "unanswered-requests", "connection-churn")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return the key, which merges all errors with one id. A Produce names the id, too."""
        return key.txn or key.client

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return True for a transactional id: without one, a producer raises its epoch by itself.

        A transaction that timed out is in another state, too: then another client has taken the id.
        """
        if all(key.code == _INVALID_TXN_STATE for key in errors.keys):
            return _is_taken(errors, seen)
        return any(
            key.txn or key.code == _PRODUCER_FENCED or key.api_key in _TRANSACTIONS for key in errors.keys
        )

    def sentence(self, errors: Errors) -> str:
        """Return which id, and who was shut out."""
        ids = errors.names("txn")
        named = f"transactional id {quoted(ids)}" if ids else "its transactional id"
        # A broker that verifies a transaction for a client is refused with the client.
        clients = [one for one in errors.clients if not _is_of_broker(one.client_id)] or errors.clients
        return (
            f"{clients_text(clients)} {'was' if len(clients) == 1 else 'were'} shut out"
            f" {times(errors.seen.times)}: another producer"
            f" took {named}"
            " after it, and its transaction is lost."
        )

    def command(self, errors: Errors) -> str:
        """Return the story of the id."""
        ids = errors.names("txn")
        return f"producers {{files}} --producer '{ids[0]}'" if ids else "producers {files}"


def users(row: Row) -> set[str]:
    """Return the clients that use a transactional id. Brokers verify transactions under its name, too."""
    return {name for name in row["client_ids"] if not _is_of_broker(name)}


def _is_of_broker(client_id: str | None) -> bool:
    return client_id is not None and client_id.startswith(_OF_BROKERS)


def _is_taken(errors: Errors, seen: Evidence) -> bool:
    """Return whether the broker assigned the id to another client than the refused ones."""
    refused, ids = {client.client_id for client in errors.clients}, errors.names("txn")
    rows = [row for row in seen.producers["transactional_ids"] if row["transactional_id"] in ids]
    return any(row["taken"] > 1 and users(row) - refused for row in rows)
