"""`offset-reset`: a consumer's offset is not there any more, and it starts elsewhere."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.metadata.who_deleted import who_deleted
from kdissect.history.api_keys import DELETE_RECORDS
from kdissect.model.cause import Cost, Severity

_OFFSET_OUT_OF_RANGE = 1  # org.apache.kafka.common.protocol.Errors
_FETCH = 1


class OffsetReset(ErrorCause):
    """Fetches out of range."""

    id = "offset-reset"
    title = "A consumer's offset is out of range"
    severity = Severity.DATA
    codes = frozenset({_OFFSET_OUT_OF_RANGE})
    apis = frozenset({_FETCH})
    help = (
        "Records were deleted before the consumer read them (retention.ms, retention.bytes,"
        " DeleteRecords), or the topic"
        " was created again. auto.offset.reset says where it goes on: earliest reads again, latest skips."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#OFFSET_OUT_OF_RANGE",
        "org.apache.kafka.clients.consumer.ConsumerConfig#AUTO_OFFSET_RESET_CONFIG",
    )
    explains = ("offset-rewound",)

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client, whichever partitions."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return who, and where."""
        return (
            f"{clients_text(errors.clients)} asked for offsets of topic {quoted(errors.names('topic'))}"
            " that are not there"
            f" ({times(errors.seen.times)}): what was between is lost to it, or it reads from elsewhere."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return who deleted records."""
        return who_deleted(errors, seen, DELETE_RECORDS)

    def cost(self, errors: Errors) -> Cost:
        """Each is a jump."""
        return Cost(errors=errors.seen.times)

    def command(self, errors: Errors) -> str:
        """Return positions that jump."""
        return "offsets {files} --table positions"
