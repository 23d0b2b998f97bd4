"""Partitions that Metadata responses name without a leader, and the replicas that they name offline."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.client import text_of

_PARTITIONS_KEPT = 5_000
_TOGETHER_NS = 10_000_000_000  # clients ask for metadata at least so often while a leader is missing
_LEADER_NOT_AVAILABLE = 5  # org.apache.kafka.common.protocol.Errors


class PartitionKey(NamedTuple):
    """A partition. `scope`: of `session.identities`, which distinguishes clusters."""

    scope: str
    topic: str
    partition: int


class Offline:
    """The longest time without a leader, in nanoseconds, and the replicas that the last response names.

    `offline` are node ids. `down` are the offline nodes that the response does not list as
    brokers. The other offline nodes are up: the replica's log directory failed. `behind` are replicas that
    are not offline and not in sync.
    """

    __slots__ = ("_since_ns", "_until_ns", "behind", "down", "longest_ns", "offline")

    def __init__(self) -> None:
        self._since_ns = self._until_ns = self.longest_ns = 0
        self.offline: frozenset[int] = frozenset()
        self.down: frozenset[int] = frozenset()
        self.behind: frozenset[int] = frozenset()

    def add(self, at_ns: int) -> None:
        """Add a response in which the partition has no leader."""
        if at_ns - self._until_ns > _TOGETHER_NS:
            self._since_ns = at_ns
        self._until_ns = max(at_ns, self._until_ns)
        self.longest_ns = max(self._until_ns - self._since_ns, self.longest_ns)


class OfflinePartitions:
    """Takes Metadata that has a response, at least if the response has an error."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.found: Table[PartitionKey, Offline] = Table(_PARTITIONS_KEPT)

    def add(self, view: ExchangeView) -> None:
        """Take an exchange."""
        body = view.response
        live = {broker.node_id for broker in body.brokers or ()}
        for topic in body.topics or ():
            name = text_of(topic.name) if topic.name else self._names.name(view.info, sent(topic, "topic_id"))
            for one in topic.partitions or ():
                offline = sent(one, "offline_replicas")
                if name is None or one.error_code != _LEADER_NOT_AVAILABLE or one.leader_id >= 0:
                    continue
                found = self.found.get_or(PartitionKey(view.info.scope, name, one.partition_index), Offline)
                found.add(view.evidence.answered_ns)
                found.offline = frozenset(offline or ())
                found.down = found.offline - live
                found.behind = frozenset(one.replica_nodes or ()) - found.offline - {*(one.isr_nodes or ())}
