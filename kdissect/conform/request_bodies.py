"""Bodies of requests: for each API one typical request about topics and groups of the suite.

A body has the fields of all versions: the encoder takes those that the version has.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from kdissect.conform.record_batches import batch, message_set
from kdissect.decoders.encoder import encode, encode_request
from kdissect.schema.protocol_messages import payload
from kdissect.schema.types import Array, Message

PREFIX = "kdissect-conform-"
"""Names of topics, groups and transactional ids of the suite begin with it."""
NO_SUCH_ID = 2_147_483_000
"""The id of no broker and no controller."""
_NO_SUCH_UUID = b"kdissect-conform"
_TIMEOUT_MS = 10_000
_FETCH_WAIT_MS = 100
_TOPIC, _CLUSTER = 2, 4  # of resources (enums.table)
_DAY_MS = 86_400_000
Fields = dict[str, Any]


class Effect(Enum):
    """Effect of a typical request on the cluster."""

    NONE = "none"
    OWN = "own"  # only on topics, groups and ids of the suite
    CLUSTER = "cluster"  # on what is not of the suite, if the broker does not refuse it


@dataclass
class Subject:
    """Names and ids that requests are about."""

    run: str
    """Letters that name this run."""
    time_ms: int = 0
    """The time of records."""
    topic: str = ""
    topic_id: bytes = bytes(16)
    leader_epoch: int = -1
    """Of the first partition, -1 if Metadata does not have it."""
    cluster_id: str | None = None
    member: str = "kdissect-conform-member"

    def of_topic(self, topic: str, topic_id: bytes) -> Subject:
        """Return the same run about a topic that does not exist."""
        return replace(self, topic=topic, topic_id=topic_id, leader_epoch=-1)

    def member_id(self, number: int) -> str:
        """Return the id of a member, number 0 to 9: a UUID in base64, as clients make it (KIP-1082)."""
        return urlsafe_b64encode(f"kdissect{self.run:.7}{number}".encode().ljust(16)).decode().rstrip("=")

    def name(self, part: str) -> str:
        """Return a name of the suite."""
        return f"{PREFIX}{self.run}-{part}"


class RequestKind(NamedTuple):
    """A typical request. `is_harmless_if_empty`: with empty lists it changes nothing. `never_empty_from`:
    from this version on Apache Kafka has no response to empty lists. `taken_back_by` is the API without which
    its effect stays.
    """

    effect: Effect
    body: Callable[[Subject, int], Fields]
    is_harmless_if_empty: bool = False
    never_empty_from: int | None = None
    taken_back_by: str = ""


def records_for(version: int, subject: Subject) -> bytes:
    """Return the records of a Produce request of this version: the magic is the newest it takes."""
    pairs = [(b"key", b"value of kdissect"), (None, b"second"), (b"third", None)]
    if version < _BATCHES_FROM:
        return message_set(pairs, subject.time_ms, 1 if version == _BATCHES_FROM - 1 else 0)
    return batch(pairs, subject.time_ms)


_BATCHES_FROM = 3  # version of Produce (KIP-98)


def emptied(message: Message, body: Fields) -> Fields:
    """Return a body with empty lists in place of its lists."""
    lists = {one.name for one in message.root.fields if isinstance(one.type, Array)}
    return {name: [] if name in lists and value is not None else value for name, value in body.items()}


def with_nulls(message: Message, version: int, body: Fields) -> list[tuple[str, Fields]]:
    """Return bodies in which one field of the request is null, with the name of the field."""
    return [
        (one.name, body | {one.name: None})
        for one in message.root.fields
        if version in one.versions
        and version in one.nullable
        and not (one.tag is not None and version in one.tagged)
        and body.get(one.name, one.default) is not None
    ]


def _topics(subject: Subject, **more: Any) -> Fields:
    return {"name": subject.topic, "topic": subject.topic, "topic_id": subject.topic_id, **more}


def _partitions(subject: Subject, **more: Any) -> list[Fields]:
    return [_topics(subject, partitions=[{"partition_index": 0, "partition": 0, **more}])]


def _indexes(subject: Subject) -> list[Fields]:
    return [_topics(subject, topic_name=subject.topic, partition_indexes=[0], partitions=[0])]


def _produce(subject: Subject, version: int) -> Fields:
    data = [{"index": 0, "records": records_for(version, subject)}]
    return {"acks": -1, "timeout_ms": _TIMEOUT_MS, "topic_data": [_topics(subject, partition_data=data)]}


def fetch(subject: Subject, offset: int = 0, isolation: int = 0) -> Fields:
    """Return a Fetch request outside of a session."""
    row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    partitions = [row | {"current_leader_epoch": subject.leader_epoch}]
    return {
        "replica_id": -1, "max_wait_ms": _FETCH_WAIT_MS, "min_bytes": 1, "max_bytes": 1 << 20,
        "isolation_level": isolation, "topics": [_topics(subject, partitions=partitions)],
    }  # fmt: skip


def _offset_commit(subject: Subject, _: int) -> Fields:
    offsets = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": "kdissect"}]
    return {
        "group_id": subject.name("offsets"), "generation_id_or_member_epoch": -1, "member_id": "",
        "topics": [_topics(subject, partitions=offsets)],
    }  # fmt: skip


def _offset_fetch(subject: Subject, _: int) -> Fields:
    topics = _indexes(subject)
    name = subject.name("offsets")
    return {"group_id": name, "topics": topics, "groups": [{"group_id": name, "topics": topics}]}


def _member(subject: Subject, _: int) -> Fields:
    """Return what a member of no group sends: heartbeats and the like, which the broker refuses."""
    return {
        "group_id": subject.name("no-group"), "generation_id": 1, "member_id": subject.member,
        "members": [{"member_id": subject.member}], "assignments": [], "reason": "end of the suite",
        "protocol_type": "consumer", "protocol_name": "range",
    }  # fmt: skip


def _join(subject: Subject, _: int) -> Fields:
    body = _member(subject, 0)
    body["protocols"] = [{"name": "range", "metadata": subscription(subject.topic)}]
    return body | {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}


def subscription(topic: str) -> bytes:
    """Return the subscription of a consumer, version 0
    (org.apache.kafka.clients.consumer.internals.ConsumerProtocol).
    """
    name = topic.encode()
    return b"\0\0" + (1).to_bytes(4) + len(name).to_bytes(2) + name + (0).to_bytes(4)


def _create_topics(subject: Subject, version: int) -> Fields:
    topic = {"name": subject.name(f"validated-v{version}"), "num_partitions": 1, "replication_factor": 1}
    return {"topics": [topic], "timeout_ms": _TIMEOUT_MS, "validate_only": True}


def _no_topic(subject: Subject, _: int) -> Fields:
    name = subject.name("no-topic")
    return {"topics": [{"name": name}], "topic_names": [name], "timeout_ms": _TIMEOUT_MS}


def _no_transaction(subject: Subject, _: int) -> Fields:
    """Return what a producer of no transaction sends, which the broker refuses."""
    name, producer = subject.name("no-transaction"), {"producer_id": NO_SUCH_ID, "producer_epoch": 0}
    topics = [{"name": subject.topic, "partitions": [0]}]
    one = {"transactional_id": name, **producer, "verify_only": True, "topics": topics}
    return {
        "transactional_id": name, **producer, "group_id": subject.name("offsets"), "committed": False,
        "transactions": [one], "v3_and_below_transactional_id": name,
        "v3_and_below_producer_id": NO_SUCH_ID, "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": topics,
    }  # fmt: skip


def _no_transaction_offsets(subject: Subject, _: int) -> Fields:
    offsets = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": None}]
    return _no_transaction(subject, 0) | {"topics": [_topics(subject, partitions=offsets)]}


def _acl_filter(subject: Subject, _: int) -> Fields:
    one = {
        "resource_type_filter": _TOPIC, "resource_name_filter": subject.topic, "pattern_type_filter": 3,
        "principal_filter": "User:kdissect-conform", "host_filter": "*", "operation": 3, "permission_type": 3,
    }  # fmt: skip
    return one | {"filters": [one]}


def _acl(subject: Subject, _: int) -> Fields:
    one = {
        "resource_type": _TOPIC, "resource_name": subject.topic, "resource_pattern_type": 3,
        "principal": "User:kdissect-conform", "host": "*", "operation": 3, "permission_type": 3,
    }  # fmt: skip
    return {"creations": [one]}


def _resource(subject: Subject, **more: Any) -> Fields:
    return {"resources": [{"resource_type": _TOPIC, "resource_name": subject.topic, **more}]}


def _config(subject: Subject, _: int) -> Fields:
    config = {"name": "retention.ms", "value": str(_DAY_MS), "config_operation": 0}
    return _resource(subject, configs=[config]) | {"validate_only": True}


def _share_fetch(subject: Subject, _: int) -> Fields:
    return {
        "group_id": subject.name("no-share-group"), "member_id": "AAAAAAAAAAAAAAAAAAAAAA",
        "share_session_epoch": 0, "max_wait_ms": _FETCH_WAIT_MS, "max_records": 10, "batch_size": 10,
        "topics": [{"topic_id": subject.topic_id, "partitions": [{"partition_index": 0}]}],
    }  # fmt: skip


def _group_of(part: str) -> Callable[[Subject, int], Fields]:
    def body(subject: Subject, _: int) -> Fields:
        name = subject.name(part)
        return {"group_id": name, "groups": [{"group_id": name, "topics": None}], "group_ids": [name]}

    return body


def _heartbeat(subject: Subject, _: int) -> Fields:
    """Return the heartbeat of a member that no group has, which the broker refuses."""
    return {
        "group_id": subject.name("no-group"), "member_id": "AAAAAAAAAAAAAAAAAAAAAA", "member_epoch": 1,
        "rebalance_timeout_ms": -1,
    }  # fmt: skip


def _stale_controller(_: Subject, __: int) -> Fields:
    """Return what a controller of a past epoch sends: brokers refuse it (StaleControllerEpoch)."""
    return {
        "controller_id": NO_SUCH_ID, "controller_epoch": -1, "broker_epoch": -1,
        "broker_id": NO_SUCH_ID, "topics": [],
    }  # fmt: skip


def _other_cluster(subject: Subject, __: int) -> Fields:
    """Return what a node of another cluster sends: controllers refuse it.

    Without the id of a cluster they refuse the topic, which is not that of their log.
    """
    return {
        "cluster_id": "kdissect-conform-cluster", "voter_id": NO_SUCH_ID, "broker_id": NO_SUCH_ID,
        "topics": [{"topic_name": subject.topic, "name": subject.topic, "partitions": [{}]}],
        "voter_directory_id": _NO_SUCH_UUID, "timeout_ms": _TIMEOUT_MS,
        "listeners": [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 1}],
        "k_raft_version_feature": {},
    }  # fmt: skip


def _other_broker(_: Subject, __: int) -> Fields:
    """Return what a broker sends that no controller registered."""
    return {"broker_id": NO_SUCH_ID, "broker_epoch": 1, "directories": []}


def _reads(**fields: Any) -> RequestKind:
    return RequestKind(Effect.NONE, lambda _, __: dict(fields))


def _about(body: Callable[[Subject], Fields]) -> RequestKind:
    return RequestKind(Effect.NONE, lambda subject, _: body(subject))


def _refused(body: Callable[[Subject, int], Fields], *, harmless: bool = False) -> RequestKind:
    return RequestKind(Effect.CLUSTER, body, harmless)


def _envelope(_: Subject, __: int) -> Fields:
    """Return a Metadata request that a broker forwards: controllers refuse it, because it is read by brokers
    (kafka.server.EnvelopeUtils#handleEnvelopeRequest, KIP-590).
    """
    principal = {"type": "User", "name": "kdissect-conform", "token_authenticated": False}
    forwarded = encode_request(_METADATA, _METADATA_VERSION, 0, "kdissect-conform", {"topics": []})
    return {
        "request_data": forwarded[_SIZE:],
        "request_principal": bytes(2) + encode(payload("DefaultPrincipalData"), 0, principal),
        "client_host_address": b"\x7f\0\0\1",
    }


def _other_controller(_: Subject, __: int) -> Fields:
    """Return what a new controller sends: others register it until UnregisterController takes it out."""
    return {
        "controller_id": NO_SUCH_ID, "incarnation_id": _NO_SUCH_UUID, "features": [],
        "listeners": [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 1, "security_protocol": 0}],
    }  # fmt: skip


_METADATA, _METADATA_VERSION = 3, 12
_SIZE = 4  # bytes before a frame
_DIRECTORY = "/kdissect-conform"

REQUESTS: dict[str, RequestKind] = {
    "Produce": RequestKind(Effect.OWN, _produce),
    "Fetch": _about(fetch),
    "ListOffsets": _about(lambda subject: {
        "replica_id": -1, "topics": _partitions(subject, timestamp=-1), "timeout_ms": _TIMEOUT_MS,
    }),
    "Metadata": _about(lambda subject: {
        "topics": [{"name": subject.topic}], "allow_auto_topic_creation": False,
    }),
    "LeaderAndIsr": _refused(_stale_controller),
    "StopReplica": _refused(_stale_controller),
    "UpdateMetadata": _refused(_stale_controller),
    "ControlledShutdown": _refused(_stale_controller),
    "OffsetCommit": RequestKind(Effect.OWN, _offset_commit),
    # Apache Kafka 3.9.2 has no response to a list of groups that is empty.
    "OffsetFetch": RequestKind(Effect.NONE, _offset_fetch, never_empty_from=8),
    "FindCoordinator": _about(lambda subject: {
        "key": subject.name("offsets"), "coordinator_keys": [subject.name("offsets")],
    }),
    "JoinGroup": RequestKind(Effect.OWN, _join),
    "Heartbeat": RequestKind(Effect.OWN, _member),
    "LeaveGroup": RequestKind(Effect.OWN, _member),
    "SyncGroup": RequestKind(Effect.OWN, _member),
    "DescribeGroups": _about(lambda subject: {"groups": [subject.name("offsets")]}),
    "ListGroups": _reads(),
    "SaslHandshake": _reads(mechanism="PLAIN"),
    "ApiVersions": _reads(client_software_name="kdissect-conform", client_software_version="1"),
    "CreateTopics": RequestKind(Effect.OWN, _create_topics),
    "DeleteTopics": RequestKind(Effect.OWN, _no_topic),
    "DeleteRecords": RequestKind(Effect.OWN, lambda subject, _: {
        "topics": _partitions(subject, offset=0), "timeout_ms": _TIMEOUT_MS,
    }),
    "InitProducerId": RequestKind(Effect.OWN, lambda _, __: {
        "transactional_id": None, "transaction_timeout_ms": 60_000,
    }),
    "OffsetForLeaderEpoch": _about(lambda subject: {
        "replica_id": -1, "topics": _partitions(subject, leader_epoch=0),
    }),
    # From version 4 on a request between brokers: Kafka responds when the last transaction is verified, and
    # never if there is none (kafka.server.KafkaApis#handleAddPartitionsToTxnRequest).
    "AddPartitionsToTxn": RequestKind(Effect.OWN, _no_transaction, never_empty_from=4),
    "AddOffsetsToTxn": RequestKind(Effect.OWN, _no_transaction),
    "EndTxn": RequestKind(Effect.OWN, _no_transaction),
    "WriteTxnMarkers": _refused(lambda _, __: {"markers": []}, harmless=True),
    "TxnOffsetCommit": RequestKind(Effect.OWN, _no_transaction_offsets),
    "DescribeAcls": RequestKind(Effect.NONE, _acl_filter),
    "CreateAcls": _refused(_acl, harmless=True),
    "DeleteAcls": _refused(_acl_filter, harmless=True),
    "DescribeConfigs": _about(lambda subject: _resource(subject, configuration_keys=["retention.ms"])),
    "AlterConfigs": RequestKind(Effect.OWN, _config),
    "AlterReplicaLogDirs": _refused(lambda subject, _: {
        "dirs": [{"path": _DIRECTORY, "topics": _indexes(subject)}],
    }, harmless=True),
    "DescribeLogDirs": _about(lambda subject: {"topics": _indexes(subject)}),
    "SaslAuthenticate": _reads(auth_bytes=b"\0kdissect\0conform"),
    "CreatePartitions": RequestKind(Effect.OWN, lambda subject, _: {
        "topics": [{"name": subject.topic, "count": 2, "assignments": None}],
        "timeout_ms": _TIMEOUT_MS, "validate_only": True,
    }),
    "CreateDelegationToken": _refused(lambda _, __: {"renewers": [], "max_lifetime_ms": 1000}),
    "RenewDelegationToken": _reads(hmac=b"kdissect-conform", renew_period_ms=1000),
    "ExpireDelegationToken": _reads(hmac=b"kdissect-conform", expiry_time_period_ms=1000),
    "DescribeDelegationToken": _reads(owners=[
        {"principal_type": "User", "principal_name": "kdissect-conform"},
    ]),
    "DeleteGroups": RequestKind(Effect.OWN, lambda subject, _: {"groups_names": [subject.name("no-group")]}),
    "ElectLeaders": RequestKind(Effect.OWN, lambda subject, _: {
        "election_type": 0, "topic_partitions": _indexes(subject), "timeout_ms": _TIMEOUT_MS,
    }),
    "IncrementalAlterConfigs": RequestKind(Effect.OWN, _config),
    "AlterPartitionReassignments": RequestKind(Effect.OWN, lambda subject, _: {
        "topics": _partitions(subject, replicas=None), "timeout_ms": _TIMEOUT_MS,
    }),
    "ListPartitionReassignments": _about(lambda subject: {
        "topics": _indexes(subject), "timeout_ms": _TIMEOUT_MS,
    }),
    "OffsetDelete": RequestKind(Effect.OWN, lambda subject, _: {
        "group_id": subject.name("no-group"), "topics": _partitions(subject),
    }),
    "DescribeClientQuotas": _reads(components=[
        {"entity_type": "client-id", "match_type": 0, "match": "kdissect-conform"},
    ]),
    "AlterClientQuotas": _refused(lambda _, __: {
        "entries": [{
            "entity": [{"entity_type": "client-id", "entity_name": "kdissect-conform"}],
            "ops": [{"key": "producer_byte_rate", "value": 0.0, "remove": True}],
        }],
        "validate_only": True,
    }, harmless=True),
    "DescribeUserScramCredentials": _reads(users=[{"name": "kdissect-conform"}]),
    "AlterUserScramCredentials": _refused(lambda _, __: {
        "deletions": [{"name": "kdissect-conform", "mechanism": 1}],
    }, harmless=True),
    "Vote": _refused(_other_cluster),
    "BeginQuorumEpoch": _refused(_other_cluster),
    "EndQuorumEpoch": _refused(_other_cluster),
    "DescribeQuorum": _reads(topics=[
        {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]},
    ]),
    "AlterPartition": _refused(_stale_controller),
    "UpdateFeatures": _refused(lambda _, __: {
        "timeout_ms": _TIMEOUT_MS, "validate_only": True,
        "feature_updates": [{"feature": "kdissect.conform", "max_version_level": 1}],
    }, harmless=True),
    "Envelope": RequestKind(Effect.NONE, _envelope),
    "FetchSnapshot": _refused(_other_cluster),
    "DescribeCluster": _reads(include_cluster_authorized_operations=True),
    "DescribeProducers": _about(lambda subject: {"topics": _indexes(subject)}),
    "BrokerRegistration": _refused(_other_cluster),
    "BrokerHeartbeat": _refused(_other_broker),
    "UnregisterBroker": _refused(lambda _, __: {"broker_id": NO_SUCH_ID}),
    "DescribeTransactions": _about(lambda subject: {"transactional_ids": [subject.name("no-transaction")]}),
    "ListTransactions": _reads(state_filters=["Ongoing"], producer_id_filters=[NO_SUCH_ID]),
    "AllocateProducerIds": _refused(_other_broker),
    "ConsumerGroupHeartbeat": RequestKind(Effect.OWN, _heartbeat),
    "ConsumerGroupDescribe": RequestKind(Effect.NONE, _group_of("consumers")),
    "ControllerRegistration": RequestKind(
        Effect.CLUSTER, _other_controller, taken_back_by="UnregisterController"
    ),
    "GetTelemetrySubscriptions": _reads(client_instance_id=bytes(16)),  # the broker chooses one (KIP-714)
    "PushTelemetry": RequestKind(Effect.OWN, lambda _, __: {
        "client_instance_id": _NO_SUCH_UUID, "subscription_id": 1, "metrics": b"",
    }),
    "AssignReplicasToDirs": _refused(_other_broker),
    "ListConfigResources": _reads(resource_types=[_TOPIC]),
    "DescribeTopicPartitions": _about(lambda subject: {"topics": [{"name": subject.topic}]}),
    "ShareGroupHeartbeat": RequestKind(Effect.OWN, _heartbeat),
    "ShareGroupDescribe": RequestKind(Effect.NONE, _group_of("sharers")),
    "ShareFetch": RequestKind(Effect.OWN, _share_fetch),
    "ShareAcknowledge": RequestKind(Effect.OWN, _share_fetch),
    "AddRaftVoter": _refused(_other_cluster),
    "RemoveRaftVoter": _refused(_other_cluster),
    "UpdateRaftVoter": _refused(_other_cluster),
    **{
        name: _refused(lambda subject, _: {"group_id": subject.name("sharers"), "topics": []}, harmless=True)
        for name in (
            "InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState",
            "DeleteShareGroupState", "ReadShareGroupStateSummary",
        )
    },
    "StreamsGroupHeartbeat": RequestKind(Effect.OWN, _heartbeat),
    "StreamsGroupDescribe": RequestKind(Effect.NONE, _group_of("streams")),
    "DescribeShareGroupOffsets": RequestKind(Effect.NONE, _group_of("sharers")),
    "AlterShareGroupOffsets": RequestKind(Effect.OWN, lambda subject, _: {
        "group_id": subject.name("no-group"), "topics": [],
    }),
    "DeleteShareGroupOffsets": RequestKind(Effect.OWN, lambda subject, _: {
        "group_id": subject.name("no-group"), "topics": [],
    }),
    "StreamsGroupTopologyDescriptionUpdate": RequestKind(Effect.OWN, lambda subject, _: {
        "group_id": subject.name("no-group"), "member_id": subject.member, "topology_epoch": 1,
    }),
    "UnregisterController": _refused(lambda _, __: {"controller_id": NO_SUCH_ID}),
}  # fmt: skip
"""The typical request of each API."""
