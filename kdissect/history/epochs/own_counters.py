"""Numbers that one process names on its connections: they only rise, or stay as they are.

Key: connection, field, partition (empty for numbers of the process). One process speaks on each side of a
connection, so that nobody restarted between two of its messages. Order: that of the connection's requests.
Numbers of brokers and controllers that only rise:

- controller_epoch: a controller closes its connections when it resigns, and each election raises it
- current_metadata_offset: what a broker applied of the metadata log (KIP-631)
- want_shut_down: a broker that stops does not change its mind (KIP-631)
- leader_epoch, partition_epoch: the controller's state of a partition, by topic id (KIP-497, KIP-841); a
  response is not lower than its request
- producer_id_start: the controller gives each block of producer ids once
- leader_epoch of the metadata log in DescribeQuorum, and its high_watermark while this epoch lasts (KIP-595)

Its own node id stays as it is.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.epochs.first_values import differs_from_first
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table

NUMBERS_KEPT = 50_000  # a state is 400 bytes
_OF_REQUESTS = {
    apis.LEADER_AND_ISR: ("controller_epoch",),
    apis.STOP_REPLICA: ("controller_epoch",),
    apis.UPDATE_METADATA: ("controller_epoch",),
    apis.BROKER_HEARTBEAT: ("current_metadata_offset", "want_shut_down"),
}
_OWN_ID = {
    apis.LEADER_AND_ISR: "controller_id",
    apis.STOP_REPLICA: "controller_id",
    apis.UPDATE_METADATA: "controller_id",
    apis.CONTROLLED_SHUTDOWN: "broker_id",
    apis.ALTER_PARTITION: "broker_id",
    apis.BROKER_REGISTRATION: "broker_id",
    apis.BROKER_HEARTBEAT: "broker_id",
    apis.ALLOCATE_PRODUCER_IDS: "broker_id",
}
"""Where a sender names its own node id."""
_OF_PARTITIONS = ("leader_epoch", "partition_epoch")
_IDS_FROM = 2  # AlterPartition: until then it names topics, and a name may be that of a new topic by now


class CounterFact(StrEnum):
    """Facts about such numbers. The number before, and now."""

    COUNTED_BACK = "counted_back"
    OTHER_NODE = "other_node"  # the sender names another node id than before


CounterKey = tuple[str, str, bytes, int]


class OwnCounters:
    """The last number and its evidence by connection, field and partition."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({*_OWN_ID, apis.DESCRIBE_QUORUM})

    def __init__(self) -> None:
        self.numbers: Table[CounterKey, tuple[int, Evidence]] = Table(NUMBERS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a connection."""
        if view.key == apis.DESCRIBE_QUORUM:
            return self._quorum(view)
        facts = self._own_id(view)
        for field in _OF_REQUESTS.get(view.key, ()):
            number = int(getattr(view.request, field, -1))
            facts += self._next(view, (view.info.id, field, b"", -1), "request", field, number)
        if view.key == apis.ALLOCATE_PRODUCER_IDS:
            return facts + self._block(view)
        if view.key == apis.ALTER_PARTITION:
            asked = {(which, row.partition_index): row for which, row, _ in _partitions(view.request)}
            for which, row, path in _partitions(view.response):
                facts += self._row(view, which, row, path, asked.get((which, row.partition_index)))
        return facts

    def _own_id(self, view: ExchangeView) -> list[Fact]:
        """Whether the sender named another id before."""
        path = _OWN_ID[view.key]
        key: CounterKey = view.info.id, "node id", b"", -1
        node = getattr(view.request, path, -1)
        if node < 0:
            return []
        return differs_from_first(self.numbers, key, node, CounterFact.OTHER_NODE, view, ("request", path))

    def _quorum(self, view: ExchangeView) -> list[Fact]:
        """Compare the log of the quorum with earlier descriptions. A new leader may be behind at first."""
        facts = []
        for which, row, path in _partitions(view.response):
            epoch, key = row.leader_epoch, (view.info.id, "leader_epoch", which, row.partition_index)
            facts += self._next(view, key, "response", f"{path}.leader_epoch", epoch)
            key = view.info.id, "high_watermark", which, epoch
            facts += self._next(view, key, "response", f"{path}.high_watermark", row.high_watermark)
        return facts

    def _block(self, view: ExchangeView) -> list[Fact]:
        """Compare a block of producer ids with the blocks before it: it begins after them."""
        answer = view.response
        if answer is None or answer.error_code or answer.producer_id_len <= 0:
            return []
        field, start = "producer_id_start", answer.producer_id_start
        key: CounterKey = view.info.id, field, b"", -1
        facts = self._next(view, key, "response", field, start)
        self.numbers.put(key, (start + answer.producer_id_len, view.evidence))
        return facts

    def _row(self, view: ExchangeView, which: bytes, row: Any, path: str, asked: Any) -> Iterator[Fact]:
        for field in _OF_PARTITIONS:
            key = view.info.id, field, which, row.partition_index
            least, known = getattr(asked, field, -1), self.numbers.get(key)
            if known is None or least > known[0] or view.version < _IDS_FROM:
                self.numbers.put(key, (least, view.evidence))
            yield from self._next(view, key, "response", f"{path}.{field}", getattr(row, field))

    def _next(self, view: ExchangeView, key: CounterKey, side: str, path: str, number: int) -> list[Fact]:
        known = self.numbers.get(key)
        if number < 0 or (known is not None and number == known[0]):  # -1: unknown
            return []
        self.numbers.put(key, (number, view.evidence))
        if known is None or number > known[0]:
            return []
        return [Fact(CounterFact.COUNTED_BACK, key, view.evidence, side, path, known[0], number, known[1])]


def _partitions(body: Any) -> Iterator[tuple[bytes, Any, str]]:
    """Partitions without an error, by the id or name of their topic."""
    for at, topic in enumerate(getattr(body, "topics", None) or ()):
        which: bytes = getattr(topic, "topic_id", None) or str(topic.topic_name).encode()
        for index, row in enumerate(topic.partitions or ()):
            if not getattr(row, "error_code", 0):
                yield which, row, f"topics[{at}].partitions[{index}]"
