"""`storage-error`: a broker cannot write to, or read from, a disk."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.ledger.symptom import errors as errors_of
from kdissect.history.api_keys import PRODUCE
from kdissect.model.cause import Severity

_KAFKA_STORAGE_ERROR = 56  # org.apache.kafka.common.protocol.Errors


class StorageError(ErrorCause):
    """Errors of storage."""

    id = "storage-error"
    title = "A broker has trouble with a disk"
    severity = Severity.STOPS
    codes = frozenset({_KAFKA_STORAGE_ERROR})
    # UNKNOWN_SERVER_ERROR of Produce: Kafka 4.4.0 sends it for seconds until it takes a full disk offline.
    claims = (errors_of({-1}, {PRODUCE}),)
    help = "See the broker's log for the directory, and the disk: full, read-only, or broken."
    cites = ("org.apache.kafka.common.protocol.Errors#forCode",)
    explains = (
        "leader-moved",
        "metadata-storm",
        "not-enough-replicas",
        "partition-offline",
        "records-dropped",
    )
    explains_by = frozenset({"client", "topic", "broker"})

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a broker."""
        return key.broker

    def sentence(self, errors: Errors) -> str:
        """Return which broker, and which topics."""
        return (
            f"Broker {joined(errors.brokers)} reported to"
            f" {clients_text(errors.clients)} {times(errors.seen.times)} that it cannot"
            f" use its storage for {quoted(errors.names('topic'))}."
        )
