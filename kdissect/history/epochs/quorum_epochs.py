"""Epochs of the metadata quorum, as each of its nodes names them (KIP-595).

Key: connection, side, topic, partition: one node speaks on each side of a connection, and its epoch only
rises, also over restarts. Order: that of the connection's requests. Connections are not compared with each
other: what a node sends on two of them may cross.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.epochs.first_values import differs_from_first
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_TOPIC = METADATA_TOPIC.encode()
PARTITIONS_KEPT = 10_000  # of connections (a cluster has one such partition, and a few connections)


class QuorumFact(StrEnum):
    """Facts about epochs. Epochs before and now."""

    RAISED = "raised"  # a higher epoch than the node named before
    WENT_BACK = "went_back"  # a lower one
    OTHER_NODE = "other_node"  # a client of the connection names another node id than before


QuorumKey = tuple[str, str, str, int]


class QuorumEpochs:
    """The last epoch and its evidence by node and partition."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(
        {apis.FETCH, apis.VOTE, apis.BEGIN_QUORUM_EPOCH, apis.END_QUORUM_EPOCH, apis.FETCH_SNAPSHOT}
    )
    reads_parts: ClassVar[bool] = False

    def __init__(self) -> None:
        self.epochs: Table[QuorumKey, tuple[int, Evidence]] = Table(PARTITIONS_KEPT)

    def passes(self, exchange: Exchange, _parts: Any) -> bool:
        """Return True for a Fetch of another topic."""
        return exchange.api_key == apis.FETCH and not _is_of_quorum(exchange)

    def knows(self, info: ConnectionInfo, partition: int, epoch: int) -> bool:
        """Return whether the last request of a connection that named an epoch of the metadata log named this
        one.
        """
        known = self.epochs.get((info.id, "request", METADATA_TOPIC, partition))
        return known is not None and known[0] == epoch

    def knows_leader(
        self, info: ConnectionInfo, topic: str | bytes, partition: int, _leader: int, epoch: int
    ) -> bool:
        """Return whether `feed` learns nothing from a leader that a Fetch answer names."""
        if topic not in (METADATA_TOPIC, METADATA_TOPIC_ID) or epoch <= 0:
            return True
        known = self.epochs.get((info.id, "response", METADATA_TOPIC, partition))
        return known is not None and known[0] == epoch

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a connection."""
        if view.key == apis.FETCH and not _is_of_quorum(view.exchange):
            return []
        # A Fetch is not compared: rows of Fetches with a known epoch pass the machine.
        facts = [] if view.key == apis.FETCH else self._node(view)
        for side, epochs in (("request", _asked(view)), ("response", _answered(view))):
            for topic, partition, epoch, path in epochs:
                key: QuorumKey = view.info.id, side, topic, partition
                known = self.epochs.get(key)
                if known is None or epoch != known[0]:
                    self.epochs.put(key, (epoch, view.evidence))
                if known is not None and epoch != known[0]:
                    kind = QuorumFact.RAISED if epoch > known[0] else QuorumFact.WENT_BACK
                    facts.append(Fact(kind, key, view.evidence, side, path, known[0], epoch, known[1]))
        return facts

    def _node(self, view: ExchangeView) -> list[Fact]:
        """Whether a replica named another id before on its connection."""
        node, path = _replica(view)
        key: QuorumKey = view.info.id, "node id", "", -1
        if node < 0:
            return []
        return differs_from_first(self.epochs, key, node, QuorumFact.OTHER_NODE, view, ("request", path))


def _replica(view: ExchangeView) -> tuple[int, str]:
    """Return the node id that a replica names (-1 without one), and its path."""
    request = view.request
    if view.key == apis.VOTE:
        for _, at, rows in _topics(getattr(request, "topics", None)):
            for index, row in enumerate(rows):
                return row.replica_id, f"topics[{at}].partitions[{index}].replica_id"
    return getattr(request, "replica_id", -1), "replica_id"


_Told = Iterator[tuple[str, int, int, str]]
"""Topic, partition, epoch and path."""


def _is_of_quorum(exchange: Exchange) -> bool:
    """Return whether a Fetch is for the metadata log. Hot, once a Fetch: hardly any is for that log."""
    frame = exchange.request
    return frame is not None and (METADATA_TOPIC_ID in frame.data or _TOPIC in frame.data)


def _asked(view: ExchangeView) -> _Told:
    name = "replica_epoch" if view.key == apis.VOTE else "leader_epoch"
    if view.key in (apis.FETCH, apis.FETCH_SNAPSHOT):
        name = "current_leader_epoch"
    for topic, at, rows in _topics(getattr(view.request, "topics", None)):
        for index, row in enumerate(rows):
            epoch = getattr(row, name, -1)
            if epoch > 0:
                yield topic, _number(row), epoch, f"topics[{at}].partitions[{index}].{name}"


def _answered(view: ExchangeView) -> _Told:
    field = "responses" if view.key == apis.FETCH else "topics"
    for topic, at, rows in _topics(getattr(view.response, field, None)):
        for index, row in enumerate(rows):
            holder, name = getattr(row, "current_leader", None), "current_leader.leader_epoch"
            if view.key not in (apis.FETCH, apis.FETCH_SNAPSHOT):
                holder, name = row, "leader_epoch"
            epoch = getattr(holder, "leader_epoch", -1)
            if epoch > 0:  # 0 is also what refusals leave it at
                yield topic, _number(row), epoch, f"{field}[{at}].partitions[{index}].{name}"


def _topics(topics: Any) -> Iterator[tuple[str, int, Any]]:
    for at, topic in enumerate(topics or ()):
        name = next((getattr(topic, f) for f in ("topic_name", "topic", "name") if hasattr(topic, f)), None)
        if name == METADATA_TOPIC or getattr(topic, "topic_id", None) == METADATA_TOPIC_ID:
            yield METADATA_TOPIC, at, topic.partitions or ()


def _number(row: Any) -> int:
    for field in ("partition_index", "partition", "index"):
        if hasattr(row, field):
            return int(getattr(row, field))
    return -1
