"""`unknown-topic`: a client asks again and again for a topic that is not there."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import SECOND_NS, ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.metadata.who_deleted import who_deleted
from kdissect.history.api_keys import DELETE_TOPICS
from kdissect.model.cause import Severity

_UNKNOWN = frozenset({3, 100})  # UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (Errors)
# Produce, Fetch, ListOffsets, Metadata, OffsetCommit, OffsetFetch, DescribeTopicPartitions
_APIS = frozenset({0, 1, 2, 3, 8, 9, 75})
_TIMES, _SPAN_NS = 5, 2 * SECOND_NS  # a new topic is unknown for a moment

_EXISTS = "the topic exists at another time of the capture: it may have been created late, or deleted"


class UnknownTopic(ErrorCause):
    """Errors about a topic that does not come."""

    id = "unknown-topic"
    title = "A client wants a topic that does not exist"
    severity = Severity.STOPS
    codes = _UNKNOWN
    apis = _APIS
    help = (
        "Create the topic, or correct its name in the client. A topic that was deleted while somebody uses"
        " it looks the"
        " same, and so does one that the user may not describe."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#UNKNOWN_TOPIC_OR_PARTITION", "KIP-361 Motivation")
    explains = ("metadata-storm", "records-dropped")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client and a topic."""
        return key.client, key.topic

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Often and for long."""
        return errors.seen.times >= _TIMES and errors.seen.span_ns >= _SPAN_NS

    def sentence(self, errors: Errors) -> str:
        """Return who, and which topic."""
        return (
            f"{clients_text(errors.clients)} asked {times(errors.seen.times)} for topic"
            f" {quoted(errors.names('topic'))},"
            " which did not exist."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return who deleted it."""
        return who_deleted(errors, seen, DELETE_TOPICS)

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Metadata that lists partitions of the topic says that it existed then."""
        topics = seen.gathering.topics
        listed = topics.leaders.coverage(topics.apart)
        exists = any((name, errors.cluster) in listed for name in errors.names("topic"))
        return _EXISTS if exists else ""
