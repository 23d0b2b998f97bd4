"""`not-enough-replicas`: too few replicas are in sync for a write that wants all of them."""

from __future__ import annotations

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.ledger.symptom import errors as errors_of
from kdissect.model.cause import Cost, Severity

# Too few before the append, and after it (org.apache.kafka.common.protocol.Errors).
_TOO_FEW = frozenset({19, 20})


class NotEnoughReplicas(ErrorCause):
    """Writes refused for min.insync.replicas."""

    id = "not-enough-replicas"
    title = "Too few replicas are in sync to write"
    severity = Severity.STOPS
    codes = _TOO_FEW
    claims = (errors_of({7}, {0}),)  # REQUEST_TIMED_OUT (Errors) of Produce: replicas did not follow in time
    help = (
        "Bring back the brokers that hold the other replicas, or see why they lag (kafka-topics.sh"
        " --describe "
        "--under-min-isr-partitions). min.insync.replicas must be lower than the number of replicas."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#NOT_ENOUGH_REPLICAS",
        "org.apache.kafka.clients.producer.ProducerConfig#ACKS_CONFIG",
    )
    # A write waits for replicas, and those after it in line.
    explains = ("unanswered-requests", "records-dropped")
    explains_by = frozenset({"client"})

    def sentence(self, errors: Errors) -> str:
        """Return which topic, and who cannot write."""
        return (
            f"{clients_text(errors.clients)} could not write to topic {quoted(errors.names('topic'))}:"
            f" {times(errors.seen.times)} the broker refused because too few replicas were in sync."
        )

    def cost(self, errors: Errors) -> Cost:
        """Each one is tried again."""
        return Cost(errors=errors.seen.times, retries=errors.seen.times)
