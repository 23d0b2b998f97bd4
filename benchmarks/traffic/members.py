"""Group members: a connection to the coordinator that joins, commits and keeps its membership alive."""

from __future__ import annotations

from random import Random

from .client import Client, Pair, Values
from .cluster import Partition, by_topic
from .exchange import Exchange
from .role import Role

MEMBER_ID_REQUIRED = 79  # KIP-394, JoinGroup from v4
MEMBER_ID_REQUIRED_SINCE = 4
REBALANCE_IN_PROGRESS = 27
REBALANCE_RATE = 0.01
COMMIT_RATE = 0.4
GENERATION = 5
# Subscription v0 of one topic and an assignment of partition 0 (Apache Kafka ConsumerProtocol*.json).
SUBSCRIPTION = bytes.fromhex("0000 00000001 0006") + b"orders" + bytes.fromhex("00000000")
ASSIGNMENT = bytes.fromhex("0000 00000001 0006") + b"orders" + bytes.fromhex("00000001 00000000 00000000")


class Member(Role):
    """One connection of a group member."""

    def __init__(self, random: Random, client: Client, group: str) -> None:
        super().__init__(random, client)
        self.group = group
        self.member_id = f"{client.client_id or 'consumer'}-{random.getrandbits(64):016x}"
        self.partitions = client.cluster.led_by(client.broker, client.cluster.topics[:1])
        self._who: Values = {"group_id": group, "member_id": self.member_id, "generation_id": GENERATION}
        self._beat = client.pair("Heartbeat", self._who, {"error_code": 0})
        self._rebalance = client.pair("Heartbeat", self._who, {"error_code": REBALANCE_IN_PROGRESS})
        self._commit = self._commit_pair()

    def opening(self) -> list[Exchange]:
        client = self.client
        pairs = [*client.api_versions(), client.coordinator(self.group), *self._join_pairs()]
        return [self.plain(pair) for pair in [*pairs, self._sync_pair(), self._fetch_pair()]]

    def plan(self) -> list[Exchange]:
        luck = self.random.random()
        if luck < REBALANCE_RATE:
            pairs = [self._rebalance, self._join_pairs()[-1], self._sync_pair()]
        elif luck < COMMIT_RATE:
            pairs = [self._commit, self._beat]
        else:
            pairs = [self._beat]
        return [self.plain(pair) for pair in pairs]

    def closing(self) -> list[Exchange]:
        member = {"member_id": self.member_id, "group_instance_id": None}
        request = {
            "group_id": self.group,
            "member_id": self.member_id,
            "members": [{**member, "reason": "bye"}],
        }
        answer = {"error_code": 0, "members": [{**member, "error_code": 0}]}
        return [self.plain(self.client.pair("LeaveGroup", request, answer))]

    def _join_pairs(self) -> list[Pair]:
        request: Values = {
            "group_id": self.group,
            "session_timeout_ms": 45000,
            "rebalance_timeout_ms": 300000,
        }
        request |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": SUBSCRIPTION}]}
        answer: Values = {"protocol_type": "consumer", "protocol_name": "range", "member_id": self.member_id}
        joined = answer | {"error_code": 0, "generation_id": GENERATION, "leader": self.member_id}
        joined["members"] = [{"member_id": self.member_id, "metadata": SUBSCRIPTION}]
        pairs = [self.client.pair("JoinGroup", request | {"member_id": self.member_id}, joined)]
        if self.client.version("JoinGroup") >= MEMBER_ID_REQUIRED_SINCE:
            refused = answer | {
                "error_code": MEMBER_ID_REQUIRED,
                "leader": "",
                "protocol_name": "",
                "members": [],
            }
            pairs.insert(0, self.client.pair("JoinGroup", request | {"member_id": ""}, refused))
        else:
            pairs[0] = self.client.pair("JoinGroup", request | {"member_id": ""}, joined)
        return pairs

    def _sync_pair(self) -> Pair:
        protocol: Values = {"protocol_type": "consumer", "protocol_name": "range"}
        assignments = [{"member_id": self.member_id, "assignment": ASSIGNMENT}]
        answer = protocol | {"error_code": 0, "assignment": ASSIGNMENT}
        return self.client.pair("SyncGroup", self._who | protocol | {"assignments": assignments}, answer)

    def _fetch_pair(self) -> Pair:
        """OffsetFetch; from v8 one request names several groups (KIP-709)."""
        found = {"committed_offset": 4711, "metadata": "", "error_code": 0, "committed_leader_epoch": -1}
        [(topic, partitions)] = by_topic(self.partitions)
        ids = [p.index for p in partitions]
        asked = {"name": topic.name, "partition_indexes": ids}
        told = {"name": topic.name, "partitions": [{"partition_index": i, **found} for i in ids]}
        by_id = {"topic_id": topic.topic_id}  # groups only, from v10
        groups = [{"group_id": self.group, "member_id": None, "topics": [asked | by_id]}]
        answers = [{"group_id": self.group, "topics": [told | by_id], "error_code": 0}]
        request: Values = {"group_id": self.group, "topics": [asked], "groups": groups}
        return self.client.pair(
            "OffsetFetch", request, {"topics": [told], "error_code": 0, "groups": answers}
        )

    def _commit_pair(self) -> Pair:
        [(topic, partitions)] = by_topic(self.partitions)
        name = {"name": topic.name, "topic_id": topic.topic_id}
        asked = {**name, "partitions": [self._committed(p) for p in partitions]}
        told = {**name, "partitions": [{"partition_index": p.index, "error_code": 0} for p in partitions]}
        request: Values = {"group_id": self.group, "member_id": self.member_id, "topics": [asked]}
        request["generation_id_or_member_epoch"] = GENERATION
        return self.client.pair("OffsetCommit", request, {"topics": [told]})

    def _committed(self, partition: Partition) -> Values:
        offset = self.random.randint(1000, 10**6)
        return {"partition_index": partition.index, "committed_offset": offset, "committed_metadata": ""}
