"""`sequence-gap`: the broker refuses batches of an idempotent producer that do not follow those it has."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.history.api_keys import PRODUCE
from kdissect.history.producing.producers import STATE_LOST
from kdissect.model.cause import Cost, Severity


class SequenceGap(ErrorCause):
    """Batches refused for their sequence number."""

    id = "sequence-gap"
    title = "A producer's batches are out of sequence"
    severity = Severity.DATA
    codes = STATE_LOST
    apis = frozenset({PRODUCE})
    help = (
        "Most often a batch before was lost for good: the client gave it up (delivery.timeout.ms) or the"
        " broker lost the producer's state. Raise delivery.timeout.ms, and look for what kept the batch"
        " before from being written."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#OUT_OF_ORDER_SEQUENCE_NUMBER",
        "KIP-98 Motivation",
        "org.apache.kafka.clients.producer.ProducerConfig#DELIVERY_TIMEOUT_MS_CONFIG",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """Return all topics of a client."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return who, and where."""
        return (
            f"{clients_text(errors.clients)} sent batches out of sequence: {times(errors.seen.times)} the"
            f" broker refused one for {quoted(errors.names('topic'))} because it does not follow what the"
            " broker has."
        )

    def cost(self, errors: Errors) -> Cost:
        """Each is a batch that is not written."""
        return Cost(errors=errors.seen.times, retries=errors.seen.times)

    def command(self, errors: Errors) -> str:
        """Return the command for events of producers."""
        return "producers {files} --table events"
