"""Rules: numbers of partitions."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, items
from kdissect.model.finding import Who
from kdissect.rules.guards import Below, Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_NAMES = frozenset({"index", "partition", "partition_index", "partition_id"})
_TOPICS = {"Produce": "topic_data", "AddPartitionsToTxn": "v3_and_below_topics"}
_ADD_PARTITIONS = 24  # org.apache.kafka.common.protocol.ApiKeys
_PARTITIONS = ("partition_data", "partitions", "partition_indexes")
_NUMBERS = ("index", "partition", "partition_index")


class NegativePartition(BodyRule):
    """A partition index must be 0 or more.

    Partitions of a topic are numbered from 0.

    Example: partition -1 in a Fetch request.

    What to do: look at the partitioner; -1 often stands for "not chosen yet".
    """

    code = "BDY021"
    name = "negative-partition"
    cites = ("spec/000 Partitioning and bootstrapping",)
    on = tuple(
        (name, side)
        for name in (
            "Produce",
            "Fetch",
            "ListOffsets",
            "Metadata",
            "OffsetCommit",
            "OffsetFetch",
            "DeleteRecords",
        )
        for side in (REQUEST, RESPONSE)
    )
    guard = (Below((*sorted(_NAMES), "partitions", "partition_indexes"), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Every field that is a partition's number."""
        for path, value in _numbers(body.value):
            if value < 0:
                yield body.violation(path, "0 or more", str(value))


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Partition numbers below a value, with their paths."""
    for name, item in items(value):
        here = f"{path}.{name}" if path else name
        if name in _NAMES and isinstance(item, int):
            yield here, item
        elif isinstance(item, (list, tuple)) and item:
            for index, element in enumerate(item):
                if isinstance(element, Value):
                    yield from _numbers(element, f"{here}[{index}]")
                elif name in ("partitions", "partition_indexes") and isinstance(element, int):
                    yield f"{here}[{index}]", element


class RepeatedPartition(BodyRule):
    """A topic partition must not stand twice in one request.

    ListOffsets is refused with INVALID_REQUEST; elsewhere one of the two wins, and which one depends on the
    broker.

    Example: partition 0 of one topic twice in a Produce request.

    What to do: group what is sent by partition.
    """

    code = "BDY022"
    name = "repeated-partition"
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.common.requests.ProduceRequest",
        "org.apache.kafka.common.requests.ListOffsetsRequest",
        "KIP-227",
    )
    on = tuple(
        (name, REQUEST)
        for name in (
            "Produce",
            "Fetch",
            "ListOffsets",
            "OffsetCommit",
            "DeleteRecords",
            "TxnOffsetCommit",
            "AddPartitionsToTxn",
        )
    )
    guard = (Fact.REPEATS,)

    def check(self, body: Body) -> Iterator[Violation]:
        """Partitions by topic name or id, within one list of topics."""
        for field, topics in _lists(body):
            seen: set[tuple[object, int]] = set()
            for index, topic in enumerate(topics):
                for path, partition in _partitions(topic):
                    key = _topic_of(topic), partition
                    if key in seen:
                        where = f"{field}[{index}].{path}"
                        yield body.violation(where, "each partition once", f"partition {partition} again")
                    seen.add(key)


def _lists(body: Body) -> Iterator[tuple[str, Any]]:
    """Every list of topics with its path. From AddPartitionsToTxn v4 on each transaction has its own."""
    for index, transaction in enumerate(getattr(body.value, "transactions", None) or ()):
        yield f"transactions[{index}].topics", transaction.topics or ()
    field = _TOPICS.get(body.api.name, "topics")
    yield field, getattr(body.value, field, None) or ()


def _topic_of(topic: Any) -> object:
    for name in ("name", "topic", "topic_id"):
        found = getattr(topic, name, None)
        if found is not None:
            return bytes(found) if isinstance(found, memoryview) else found
    return None


def _partitions(topic: Any) -> Iterator[tuple[str, int]]:
    for name in _PARTITIONS:
        for index, item in enumerate(getattr(topic, name, None) or ()):
            number = item if isinstance(item, int) else _number(item)
            if number is not None:
                yield f"{name}[{index}]", number


def _number(item: Any) -> int | None:
    for name in _NUMBERS:
        found = getattr(item, name, None)
        if found is not None:
            return int(found)
    return None
