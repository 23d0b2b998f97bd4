"""Which topics an answer denies to a client: TOPIC_AUTHORIZATION_FAILED wherever it stands in a body."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, present, sent
from kdissect.history.turn import Turn
from kdissect.stats.client import text_of

TOPIC_AUTHORIZATION_FAILED = 29  # org.apache.kafka.common.protocol.Errors
_TOPIC_RESOURCE = 2  # org.apache.kafka.common.config.ConfigResource

Named = str | bytes
"""A topic's name, or its id of 16 bytes."""


def denied_topics(turn: Turn) -> set[Named]:
    """The topics of an answer that stand beside or above the error; those of the request if none does."""
    if TOPIC_AUTHORIZATION_FAILED not in turn.exchange.response_summary().errors:
        return set()
    answer = turn.response
    found = set() if answer is None else set(_walk(answer, None))
    return found or set(turn.exchange.request_summary().topics)


def _walk(value: Value, topic: Named | None) -> Iterator[Named]:
    topic = _topic(value) or topic
    for field, _, held in present(value):
        if field.is_error:
            if held == TOPIC_AUTHORIZATION_FAILED and topic is not None:
                yield topic
        elif isinstance(held, Value):
            yield from _walk(held, topic)
        elif isinstance(held, (list, tuple)):
            for item in held:
                if isinstance(item, Value):
                    yield from _walk(item, topic)


def _topic(value: Value) -> Named | None:
    """The topic that a struct names itself."""
    if sent(value, "resource_type", None) == _TOPIC_RESOURCE:  # configs name their topics so
        return text_of(value.resource_name)
    found: Named | None = None
    for field, _, held in present(value):
        if field.entity == "topicName" and held is not None and not isinstance(held, (list, tuple)):
            return text_of(held)
        if field.entity == "topicId" and _is_id(held):
            found = bytes(held)
    return found


def _is_id(held: Any) -> bool:
    return isinstance(held, bytes) and any(held)
