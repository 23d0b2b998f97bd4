"""BDY021: A partition index must be 0 or more."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, items
from kdissect.rules.body import Body
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, RESPONSE, Fault

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
    only_odd = True
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

    def check(self, body: Body) -> Iterator[Fault]:
        """Every field that is a partition's number."""
        for path, value in numbers(body.value):
            if value < 0:
                yield body.fault(path, "0 or more", str(value))


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Partition numbers below a value, with their paths."""
    for name, item in items(value):
        here = f"{path}.{name}" if path else name
        if name in _NAMES and isinstance(item, int):
            yield here, item
        elif isinstance(item, (list, tuple)) and item:
            for index, element in enumerate(item):
                if isinstance(element, Value):
                    yield from numbers(element, f"{here}[{index}]")
                elif name in ("partitions", "partition_indexes") and isinstance(element, int):
                    yield f"{here}[{index}]", element
