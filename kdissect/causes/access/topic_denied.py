"""`topic-denied`: a client may not use a topic."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity

_TOPIC_AUTHORIZATION_FAILED = 29  # org.apache.kafka.common.protocol.Errors


class TopicDenied(ErrorCause):
    """Errors of authorization about topics."""

    id = "topic-denied"
    title = "A client may not use a topic"
    severity = Severity.STOPS
    codes = frozenset({_TOPIC_AUTHORIZATION_FAILED})
    help = (
        "Give the user the operation on the topic (kafka-acls.sh --add), or have the client use a topic"
        " that it "
        "may: Describe comes with Read and Write."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#TOPIC_AUTHORIZATION_FAILED", "KIP-290 Motivation")

    def alike(self, key: ErrorKey) -> Hashable:
        """All topics that a client is refused."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Who, and which topics."""
        topics = errors.names("topic")
        named = f"topic {quoted(topics)}" if len(topics) == 1 else f"topics {quoted(topics)}"
        return (
            f"{clients_text(errors.clients)} was refused {times(errors.seen.times)}: it may not use {named}."
        )
