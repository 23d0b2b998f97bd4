"""`topic-recreated`: a topic was deleted and created again while clients used it."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, quoted, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.metadata.who_deleted import who_deleted
from kdissect.history.api_keys import DELETE_TOPICS
from kdissect.model.cause import Severity

# An unknown name, an unknown id, or an id that is not that of the name (Errors#UNKNOWN_TOPIC_OR_PARTITION,
# UNKNOWN_TOPIC_ID and INCONSISTENT_TOPIC_ID).
_GONE = frozenset({3, 100, 103})
# Requests of clients that use a topic: Produce, Fetch, ListOffsets, OffsetCommit, OffsetFetch,
# AddPartitionsToTxn, TxnOffsetCommit, ShareFetch, ShareAcknowledge.
_APIS = frozenset({0, 1, 2, 8, 9, 24, 28, 78, 79})


class TopicRecreated(ErrorCause):
    """Errors of clients about a topic whose name had two ids in the capture."""

    id = "topic-recreated"
    title = "A topic was deleted and created again under its name"
    severity = Severity.DELAYS
    codes = _GONE
    apis = _APIS
    help = (
        "Stop producers and consumers of a topic before it is deleted, and reset the offsets of its groups:"
        " the offsets of the former topic mean nothing in the new one. Use another name, or"
        " kafka-delete-records.sh to remove records."
    )
    cites = ("KIP-516 Motivation", "org.apache.kafka.common.protocol.Errors#UNKNOWN_TOPIC_ID")
    explains = ("unknown-topic", "offset-reset", "offset-rewound", "records-dropped", "metadata-storm")
    explains_by = frozenset({"topic"})

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a topic."""
        return key.topic

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Its name had two ids."""
        topics = seen.gathering.topics
        return any(topics.is_created_again(key.scope, key.topic) for key in errors.keys)

    def sentence(self, errors: Errors) -> str:
        """Return which topic, and whose requests failed."""
        return (
            f"Topic {quoted(errors.names('topic'))} was deleted and created again: brokers gave two ids for"
            f" its name. Requests of {clients_text(errors.clients)} failed {times(errors.seen.times)}"
            f" ({joined(list(errors.times))}). Offsets of the former topic do not count in the new one."
        )

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return who deleted it."""
        return who_deleted(errors, seen, DELETE_TOPICS)

    def command(self, errors: Errors) -> str:
        """Return the command for commits of groups."""
        return "offsets {files} --table commits"
