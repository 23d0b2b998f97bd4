"""Numbers that one process counts up and names on its connections: they only rise.

Key: connection, field, partition (empty for numbers of the process). One process speaks on each side of a
connection, so it did not restart between two of its messages. Order: that of the connection's requests.
Counters that brokers and controllers name:

- controller_epoch: a controller closes its connections when it resigns, and each election raises it
- current_metadata_offset: what a broker applied of the metadata log (KIP-631)
- leader_epoch, partition_epoch: the controller's state of a partition, by topic id (KIP-497, KIP-841)
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table

NUMBERS_KEPT = 50_000  # a state is 400 bytes
_OF_REQUESTS = {
    apis.LEADER_AND_ISR: "controller_epoch",
    apis.STOP_REPLICA: "controller_epoch",
    apis.UPDATE_METADATA: "controller_epoch",
    apis.BROKER_HEARTBEAT: "current_metadata_offset",
}
_OF_PARTITIONS = ("leader_epoch", "partition_epoch")


class CounterFact(StrEnum):
    """Facts about such numbers. The number before, and now."""

    COUNTED_BACK = "counted_back"


CounterKey = tuple[str, str, bytes, int]


class OwnCounters:
    """The last number and its evidence by connection, field and partition."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({*_OF_REQUESTS, apis.ALTER_PARTITION})

    def __init__(self) -> None:
        self.numbers: Table[CounterKey, tuple[int, Evidence]] = Table(NUMBERS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a connection."""
        field = _OF_REQUESTS.get(view.key)
        if field is None:
            return [fact for row in _partitions(view.response) for fact in self._row(view, *row)]
        number = getattr(view.request, field, -1)
        return self._next(view, (view.info.id, field, b"", -1), "request", field, number)

    def _row(self, view: ExchangeView, topic_id: bytes, row: Any, path: str) -> Iterator[Fact]:
        for field in _OF_PARTITIONS:
            key = view.info.id, field, topic_id, row.partition_index
            yield from self._next(view, key, "response", f"{path}.{field}", getattr(row, field))

    def _next(self, view: ExchangeView, key: CounterKey, side: str, path: str, number: int) -> list[Fact]:
        known = self.numbers.get(key)
        if number < 0 or (known is not None and number == known[0]):  # -1: unknown
            return []
        self.numbers.put(key, (number, view.evidence))
        if known is None or number > known[0]:
            return []
        return [Fact(CounterFact.COUNTED_BACK, key, view.evidence, side, path, known[0], number, known[1])]


def _partitions(answer: Any) -> Iterator[tuple[bytes, Any, str]]:
    """Yield partitions that the controller reports, by topic id: a name may be that of a new topic by now."""
    for at, topic in enumerate(getattr(answer, "topics", None) or ()):
        topic_id: bytes = getattr(topic, "topic_id", b"")
        for index, row in enumerate(topic.partitions or ()):
            if topic_id and not row.error_code:
                yield topic_id, row, f"topics[{at}].partitions[{index}]"
