"""Rules: numbers of partitions."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.answer_comparison import asked_twice
from kdissect.rules.guards import Fact
from kdissect.rules.kinds import BodyRule, DomainRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class NegativePartition(DomainRule):
    """A partition index must be 0 or more.

    Partitions of a topic are numbered from 0.

    Example: partition -1 in a Fetch request.

    What to do: look at the partitioner; -1 often stands for "not chosen yet".
    """

    code = "BDY021"
    name = "negative-partition"
    cites = ("spec/000 Partitioning and bootstrapping",)
    meanings = frozenset({"partition"})


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
        """Yield partitions by topic, and by transaction if there are several."""
        for entry in asked_twice(body):
            yield body.violation(entry.path, "each partition once", f"partition {entry.key[-1]} again")
