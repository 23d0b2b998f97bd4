"""Resources that a response refuses for lack of a permission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kdissect.decoders.generated.values import Value, present, sent
from kdissect.history.exchange_view import ExchangeView
from kdissect.stats.client import text_of

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = "Topic", "Group", "Cluster", "TransactionalId"
DELEGATION_TOKEN = "DelegationToken"
# org.apache.kafka.common.protocol.Errors: *_AUTHORIZATION_FAILED
DENIALS = {29: TOPIC, 30: GROUP, 31: CLUSTER, 53: TRANSACTIONAL_ID, 65: DELEGATION_TOKEN}
_OF_NEW_CONFIGS = "topic_config_error_code"  # CreateTopics: the configs are refused, not the topic (KIP-525)
_TOPIC_RESOURCE = 2  # org.apache.kafka.common.config.ConfigResource
_ENTITIES = {"topicName": TOPIC, "groupId": GROUP, "transactionalId": TRANSACTIONAL_ID}

Name = str | bytes
"""The name of a resource, or the id of a topic in 16 bytes."""
Resource = tuple[str, Name | None]
"""Type and name. Without a name, the resources of this type that the request names."""


def denied_resources(view: ExchangeView) -> set[Resource]:
    """Return the resources next to or below which the response has the error code of a denial."""
    return resources_with(view, DENIALS)


def resources_with(view: ExchangeView, codes: Mapping[int, str]) -> set[Resource]:
    """Return the resources next to or below which the response has one of these error codes, which are about
    this type.
    """
    if codes.keys().isdisjoint(view.exchange.response_summary().errors):
        return set()
    answer = view.response
    return set() if answer is None else set(_below(answer, {}, codes))


def denied_topics(view: ExchangeView) -> set[Name]:
    """Return the topics that are refused: as the response names them, or all of the request."""
    if not any(DENIALS.get(code) == TOPIC for code in view.exchange.response_summary().errors):
        return set()
    found = {name for kind, name in denied_resources(view) if kind == TOPIC and name is not None}
    return found or set(view.exchange.request_summary().topics)


def _below(value: Value, around: dict[str, Name], codes: Mapping[int, str]) -> Iterator[Resource]:
    named = around | dict(_named(value))
    for field, name, held in present(value):
        if field.is_error:
            kind = codes.get(held)
            if kind is not None and name != _OF_NEW_CONFIGS:
                yield kind, named.get(kind)
        elif isinstance(held, Value):
            yield from _below(held, named, codes)
        elif isinstance(held, (list, tuple)):
            for item in held:
                if isinstance(item, Value):
                    yield from _below(item, named, codes)


def _named(value: Value) -> Iterator[tuple[str, Name]]:
    """Yield the resources that a struct names itself."""
    topic = topic_in(value)
    if topic is not None:
        yield TOPIC, topic
    for field, name, held in present(value):
        kind = _ENTITIES.get(field.entity or "", GROUP if name == "group_id" else None)
        if kind not in (None, TOPIC) and held is not None and not isinstance(held, (list, tuple)):
            yield kind, text_of(held)


def topic_in(value: Value) -> Name | None:
    """Return the topic that a struct names itself, by its name rather than by its id."""
    if sent(value, "resource_type", None) == _TOPIC_RESOURCE:  # configs name their topics so
        return text_of(value.resource_name)
    found: Name | None = None
    for field, _, held in present(value):
        if field.entity == "topicName" and held is not None and not isinstance(held, (list, tuple)):
            return text_of(held)
        if field.entity == "topicId" and _is_id(held):
            found = bytes(held)
    return found


def _is_id(held: Any) -> bool:
    return isinstance(held, (bytes, memoryview)) and len(held) == 16 and any(held)
