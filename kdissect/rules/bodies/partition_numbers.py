"""Rules: numbers of partitions."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, items
from kdissect.model.finding import Who
from kdissect.rules.answer_comparison import asked_twice
from kdissect.rules.guards import Below, Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_NAMES = frozenset({"index", "partition", "partition_index", "partition_id"})


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
        "org.apache.kafka.common.requests.ListOffsetsRequest#duplicatePartitions",
        "org.apache.kafka.common.requests.ProduceRequest#partitionSizes",
        "org.apache.kafka.common.requests.FetchRequest#fetchData",
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
        """Partitions by topic, and by transaction where there are several."""
        for entry in asked_twice(body):
            yield body.violation(entry.path, "each partition once", f"partition {entry.key[-1]} again")
