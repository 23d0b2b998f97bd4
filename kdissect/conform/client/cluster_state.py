"""State of a scripted cluster: nodes, topics, groups, commits and producers. Used with the cluster's lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Condition
from typing import Any, NamedTuple

from kdissect.conform.client.classic_groups import ClassicGroup
from kdissect.conform.client.cluster_topics import NODES, Topics
from kdissect.model.endpoint import Endpoint

CLUSTER_ID = "kdissect-conform"
_MAX_GROUPS = 1000
Body = dict[str, Any]


class Commit(NamedTuple):
    """A committed offset."""

    offset: int
    epoch: int
    metadata: str | None


class ModernMember:
    """A member of a group of the protocol of KIP-848."""

    def __init__(self) -> None:
        self.epoch = 0
        self.topics: list[str] = []
        self.sent: dict[bytes, list[int]] | None = None
        """The assignment that the member received."""


class Producer:
    """A producer id with its epoch. `partitions` are those of an open transaction."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.epoch = 0
        self.partitions: set[tuple[str, int]] = set()
        self.pending: dict[tuple[str, str, int], Commit] = {}


class FetchSession:
    """A fetch session (KIP-227). `partitions` are its rows of Fetch requests."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.epoch = 1
        self.partitions: dict[tuple[Any, int], Any] = {}


class ClusterState:
    """All state. `versions` are the advertised ones, by API key."""

    def __init__(
        self,
        versions: Mapping[int, tuple[int, int]],
        addresses: Mapping[int, Endpoint],
        changed: Condition,
        is_over: Callable[[], bool],
    ) -> None:
        self.versions = dict(versions)
        self.addresses = addresses
        self.changed = changed
        self.is_over = is_over
        self.topics = Topics()
        self.commits: dict[tuple[str, str, int], Commit] = {}
        """By group, topic and partition."""
        self.modern: dict[str, dict[str, ModernMember]] = {}
        self.producers: dict[str, Producer] = {}
        """By transactional id."""
        self.sessions: dict[int, FetchSession] = {}
        self.has_sessions = False
        self.lost: set[int] = set()
        """Nodes that do not speak any more."""
        self._groups: dict[str, ClassicGroup] = {}
        self._moves = 0
        self._last_producer = 1000

    def group(self, name: str) -> ClassicGroup:
        """Return a group, a new one if need be."""
        found = self._groups.get(name)
        if found is None:
            found = ClassicGroup(self.changed, self.is_over)
            if len(self._groups) < _MAX_GROUPS:
                self._groups[name] = found
        return found

    @property
    def groups(self) -> Mapping[str, ClassicGroup]:
        """All groups of the classic protocol."""
        return self._groups

    def coordinator(self, _key: str) -> int:
        """Return the node that coordinates groups and transactional ids."""
        at = (self._moves + step for step in range(len(NODES)))
        return next(node for node in (NODES[each % len(NODES)] for each in at) if node not in self.lost)

    def move_coordinator(self) -> None:
        """Let another node coordinate all groups and transactional ids."""
        self._moves += 1

    def lose(self, node: int) -> None:
        """Let other nodes lead and coordinate what a node did."""
        self.lost.add(node)
        after = next(each for each in (*NODES[node:], *NODES) if each not in self.lost)
        for topic in self.topics.by_name.values():
            for partition in topic.partitions:
                if partition.leader == node:
                    partition.leader = after
                    partition.epoch += 1

    def new_producer(self) -> Producer:
        """Return a producer with an id of its own."""
        self._last_producer += 1
        return Producer(self._last_producer)

    def brokers(self) -> list[Body]:
        """Return the rows of nodes in a Metadata response."""
        return [
            {"node_id": node, "broker_id": node, "host": where.host, "port": where.port}
            for node, where in self.addresses.items()
            if node not in self.lost
        ]
