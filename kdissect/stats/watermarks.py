"""High watermarks of partitions, and the time since which each is known.

For read_committed readers the last stable offset replaces it (KIP-98).

A Fetch of an offset below the high watermark finds data at once. One at the high watermark waits. The
difference matters for the speed of a broker.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from kdissect.decoders.generated.values import sent
from kdissect.history.state_table import Table

PARTITIONS_KEPT = 20_000  # a large broker's; 600 bytes each
_KEPT = 4  # a consumer has one open Fetch, which may be half a second old

PartitionKey = tuple[str, str | bytes, int, bool]
"""Capture set, topic name or id, partition, whether for readers of committed records alone."""


class HighWatermarks(Protocol):
    """The interface of `Watermarks`, in Python or native."""

    def at(self, key: PartitionKey, time_ns: int, /) -> int | None:
        """Return the high watermark that was known at a time. It may have risen unseen."""

    def learn(self, key: PartitionKey, time_ns: int, offset: int, /) -> None:
        """Take the high watermark of an answer. A negative one is unknown."""


class Watermarks:
    """The last high watermarks of partitions, each with the time of the answer that reported it."""

    def __init__(self) -> None:
        self._known: Table[PartitionKey, tuple[tuple[int, int], ...]] = Table(PARTITIONS_KEPT)

    def at(self, key: PartitionKey, time_ns: int) -> int | None:
        """Return the high watermark that was known at a time. It may have risen unseen."""
        for since_ns, offset in reversed(self._known.get(key) or ()):
            if since_ns <= time_ns:
                return offset
        return None

    def learn(self, key: PartitionKey, time_ns: int, offset: int) -> None:
        """Take the high watermark of an answer. A negative one is unknown."""
        known = self._known.get(key) or ()
        if offset >= 0 and (not known or known[-1][1] != offset):
            self._known.put(key, (*known[1 - _KEPT :], (time_ns, offset)))


def topic_of(row: Any) -> str | bytes:
    """Return the id of a topic's row in a body, or its name in versions without ids."""
    topic_id = sent(row, "topic_id", None)
    if topic_id is not None:
        return bytes(topic_id)
    name = sent(row, "topic", None)
    return str(row.name if name is None else name)


def refused_partitions(topics: Iterable[Any] | None) -> set[tuple[str | bytes, int]]:
    """Return topic and number of the partitions with an error code, in the topics of a response."""
    return {
        (topic_of(topic), row.partition_index)
        for topic in topics or ()
        for row in topic.partitions or ()
        if row.error_code
    }
