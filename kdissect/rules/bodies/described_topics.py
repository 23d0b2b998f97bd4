"""Rules: names and ids of topics that a broker describes without a request for each."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.decoders.generated.values import Value, items, sent
from kdissect.model.finding import Claim, Severity, Who
from kdissect.model.topic_name import is_legal_topic_name
from kdissect.rules.guards import TopicId
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Array, Field, Struct

# Brokers without ZooKeeper alone have these APIs, so that each topic has an id (KIP-516, KIP-848, KIP-932).
_WITH_IDS = (
    "AlterShareGroupOffsets", "ConsumerGroupDescribe", "DeleteShareGroupOffsets", "DescribeTopicPartitions",
    "ShareFetch", "ShareGroupDescribe",
)  # fmt: skip
# APIs whose topics are not all in the request: PAI008 and PAI009 judge the names for other APIs.
_WITH_NAMES = (
    "ConsumerGroupDescribe", "ControlledShutdown", "DescribeLogDirs", "DescribeShareGroupOffsets",
    "DescribeTopicPartitions", "Metadata", "ShareGroupDescribe", "StreamsGroupDescribe",
)  # fmt: skip
_AS_ASKED = frozenset({"subscribed_topic_names", "subscribed_topic_regex"})


class ImpossibleTopicName(BodyRule):
    """A broker must not describe a topic whose name no topic can have.

    Names are 1 to 249 of letters, digits, `.`, `_` and `-`, and neither `.` nor `..`. Apache Kafka refuses to
    create any other topic. The rule skips topics with an error, which repeat the name of the request, and the
    names to which members subscribe.

    Example: Metadata with a topic `a/b` and error 0.

    What to do: look for a name that was read from other bytes. Brokers that are not Apache Kafka may have
    names of their own.
    """

    code = "BDY032"
    name = "impossible-topic-name"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("org.apache.kafka.common.internals.Topic#validate",)
    on = tuple((name, RESPONSE) for name in _WITH_NAMES)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each name of a topic, of structs without an error."""
        for path, _, text in _of_topics(body.value, "topicName", ""):
            if isinstance(text, str) and not is_legal_topic_name(text):
                yield body.violation(path, "the name of a topic", repr(text))


class DescribedWithoutId(BodyRule):
    """A broker must describe a topic with its id.

    The APIs of this rule came after topic ids. Zero is legal if the topic or one of its partitions has an
    error.

    Example: ConsumerGroupDescribe with an assignment of the zero id.

    What to do: send the id of the topic.
    """

    code = "BDY033"
    name = "described-without-id"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-516 Proposed Changes", "org.apache.kafka.common.Uuid#ZERO_UUID")
    on = tuple((name, RESPONSE) for name in _WITH_IDS)
    guard = (TopicId(frozenset({NO_TOPIC_ID})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each id of a topic, of structs without an error."""
        for path, of, topic_id in _of_topics(body.value, "topicId", ""):
            if topic_id == NO_TOPIC_ID and not _has_error(of):
                yield body.violation(path, "the id of the topic", "zero")


def _of_topics(value: Value, entity: str, at: str) -> Iterator[tuple[str, Value, Any]]:
    """Yield path, struct and value of an entity's fields, without structs that have an error."""
    if sent(value, "error_code", 0):
        return
    for name in _leading(value.struct_fields, entity):
        item = sent(value, name)
        path = f"{at}{name}"
        if isinstance(item, Value):
            yield from _of_topics(item, entity, f"{path}.")
        elif isinstance(item, list | tuple):
            for index, element in enumerate(item):
                if isinstance(element, Value):
                    yield from _of_topics(element, entity, f"{path}[{index}].")
                else:
                    yield f"{path}[{index}]", value, element
        elif item is not None:
            yield path, value, item


@cache
def _leading(fields: tuple[Field, ...], entity: str) -> tuple[str, ...]:
    """Return the names of the fields that are of an entity or have one below.

    Metadata of many partitions has one name for each topic, and partitions have none.
    """
    return tuple(field.name for field in fields if _is_of(field, entity))


def _is_of(field: Field, entity: str) -> bool:
    kind = field.type.element if isinstance(field.type, Array) else field.type
    if isinstance(kind, Struct):
        return bool(_leading(kind.fields, entity))
    return field.entity == entity and field.name not in _AS_ASKED


def _has_error(value: Value) -> bool:
    """Return whether there is an error in a struct below."""
    rows = (row for _, item in items(value) if isinstance(item, list) for row in item)
    return any(sent(row, "error_code", 0) for row in rows if isinstance(row, Value))
