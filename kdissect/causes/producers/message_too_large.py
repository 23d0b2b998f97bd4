"""`message-too-large`: a batch is larger than the topic or broker takes."""

from __future__ import annotations

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.refused_batches import DECOMPRESSED, TOO_LARGE
from kdissect.model.cause import Severity
from kdissect.report.quantities import byte_count


class MessageTooLarge(ErrorCause):
    """Writes refused for their size."""

    id = "message-too-large"
    title = "Batches are larger than the topic takes"
    severity = Severity.STOPS
    codes = TOO_LARGE
    help = (
        "Raise max.message.bytes of the topic (and what consumers fetch at once), compress, or send less"
        " at a time: "
        "max.request.size of the producer must not be larger than what the topic takes. A broker compresses a"
        " batch again if compression.type of the topic names another codec than the batch has: then that"
        " size counts, and compression.type=producer or a codec that compresses better helps."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#MESSAGE_TOO_LARGE",
        "org.apache.kafka.clients.producer.ProducerConfig#MAX_REQUEST_SIZE_CONFIG",
        "org.apache.kafka.common.config.TopicConfig#COMPRESSION_TYPE_CONFIG",
    )

    def sentence(self, errors: Errors) -> str:
        """Return which topic, and who."""
        return (
            f"The broker refused batches of {clients_text(errors.clients)} for topic"
            f" {quoted(errors.names('topic'))} {times(errors.seen.times)} as too large: as they were sent, or"
            " as it stores them."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return the sizes of the largest batch, if it was captured."""
        places = {(key.scope, key.topic or "") for key in errors.keys}
        refused = seen.gathering.log.refused
        found = [batch for batch in map(refused.largest.peek, places) if batch is not None]
        if not found:
            return ""
        one = max(found, key=lambda batch: batch.sizes)
        largest = "The largest of them"
        if any(map(refused.is_partly_compared, places)):
            largest = f"Of batches without compression and the first {DECOMPRESSED} others, the largest"
        if one.codec == "none":
            return f"{largest} has {byte_count(one.size)}, without compression."
        raw = "" if one.raw is None else f", and {byte_count(one.raw)} without compression"
        return f"{largest} has {byte_count(one.size)} with {one.codec}{raw}."
