"""`invalid-records`: the broker refuses what is in the records."""

from __future__ import annotations

from kdissect.causes.cause import ErrorCause, clients_text, joined, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.model.cause import Severity

# Corrupt message, invalid timestamp, format and compression that are not supported, invalid record (Errors).
_INVALID = frozenset({2, 32, 43, 76, 87})
_PRODUCE = frozenset({0})


class InvalidRecords(ErrorCause):
    """Writes refused for what they hold."""

    id = "invalid-records"
    title = "The broker refuses records for what is in them"
    severity = Severity.STOPS
    codes = _INVALID
    apis = _PRODUCE
    help = (
        "A compacted topic needs keys, timestamps must be near the broker's clock "
        "(message.timestamp.before.max.ms, .after.max.ms), and a wrong checksum comes from a faulty client or"
        " proxy."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#INVALID_RECORD", "KIP-467 Motivation")

    def sentence(self, errors: Errors) -> str:
        """Return which topic, who, and the broker's word for it."""
        return (
            f"{clients_text(errors.clients)} sent records to topic {quoted(errors.names('topic'))} that"
            " the broker"
            f" refused {times(errors.seen.times)}: {joined(list(errors.times))}."
        )
