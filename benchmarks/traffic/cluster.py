"""Brokers, topics and partitions: what the conversations talk about."""

from __future__ import annotations

from random import Random
from typing import NamedTuple
from uuid import UUID

from .batches import LEADER_EPOCH

PORT = 9092
TOPIC_NAMES = (
    "orders",
    "payments",
    "clickstream-v2",
    "inventory.updates",
    "audit_log",
    "metrics-by-host",
    "emails",
)


class Partition:
    """One partition and its log end offset, which grows as producers append."""

    __slots__ = ("end", "index", "leader", "topic")

    def __init__(self, topic: Topic, index: int, leader: int, end: int) -> None:
        self.topic = topic
        self.index = index
        self.leader = leader
        self.end = end


class Topic:
    """A topic with the id it has since KIP-516."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: UUID) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[Partition] = []


class Broker(NamedTuple):
    """One broker's id and IPv4 address; all listen on 9092, for tools that know Kafka by its port."""

    node: int
    host: str


class Cluster:
    """Brokers of one release."""

    __slots__ = ("brokers", "cluster_id", "release", "topics")

    def __init__(self, random: Random, release: tuple[int, int], hosts: list[str], partitions: int) -> None:
        self.release = release
        self.brokers = [Broker(node, host) for node, host in enumerate(hosts, 1)]
        self.cluster_id = f"bench-{random.getrandbits(64):016x}"
        self.topics = [self._topic(random, name, partitions) for name in TOPIC_NAMES]

    def _topic(self, random: Random, name: str, partitions: int) -> Topic:
        topic = Topic(name, UUID(int=random.getrandbits(128), version=4))
        for index in range(partitions):
            leader = self.brokers[index % len(self.brokers)].node
            topic.partitions.append(Partition(topic, index, leader, random.randint(10**4, 10**8)))
        return topic

    def led_by(self, broker: Broker, topics: list[Topic]) -> list[Partition]:
        """Return partitions of these topics that a client finds on this broker."""
        return [p for topic in topics for p in topic.partitions if p.leader == broker.node]


def broker_values(cluster: Cluster) -> list[dict[str, object]]:
    """Return the brokers as Metadata lists them."""
    return [{"node_id": b.node, "host": b.host, "port": PORT, "rack": None} for b in cluster.brokers]


def by_topic(partitions: list[Partition]) -> list[tuple[Topic, list[Partition]]]:
    """Return partitions grouped as requests name them, order kept."""
    groups: list[tuple[Topic, list[Partition]]] = []
    for partition in partitions:
        if not groups or groups[-1][0] is not partition.topic:
            groups.append((partition.topic, []))
        groups[-1][1].append(partition)
    return groups


def metadata_values(cluster: Cluster, topics: list[Topic]) -> dict[str, object]:
    """Return fields of a MetadataResponse for these topics."""
    nodes = [b.node for b in cluster.brokers]
    return {
        "brokers": broker_values(cluster),
        "cluster_id": cluster.cluster_id,
        "controller_id": nodes[0],
        "topics": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partitions": [
                    {
                        "partition_index": p.index,
                        "leader_id": p.leader,
                        "leader_epoch": LEADER_EPOCH,
                        "replica_nodes": nodes,
                        "isr_nodes": nodes,
                        "offline_replicas": [],
                    }
                    for p in topic.partitions
                ],
            }
            for topic in topics
        ],
    }
