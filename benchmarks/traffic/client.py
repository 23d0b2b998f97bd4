"""A client program: its release, name, cluster and broker, and the requests any client sends."""

from __future__ import annotations

from collections.abc import Mapping

from kafka.protocol import consumer as kafka_consumer
from kafka.protocol import metadata as kafka_metadata
from kafka.protocol import producer as kafka_producer
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from .cluster import PORT, Broker, Cluster, Topic, metadata_values
from .template import Template, build

MESSAGES = {
    "Produce": (kafka_producer.ProduceRequest, kafka_producer.ProduceResponse),
    "Fetch": (kafka_consumer.FetchRequest, kafka_consumer.FetchResponse),
    "ListOffsets": (kafka_consumer.ListOffsetsRequest, kafka_consumer.ListOffsetsResponse),
    "Metadata": (kafka_metadata.MetadataRequest, kafka_metadata.MetadataResponse),
    "OffsetCommit": (kafka_consumer.OffsetCommitRequest, kafka_consumer.OffsetCommitResponse),
    "OffsetFetch": (kafka_consumer.OffsetFetchRequest, kafka_consumer.OffsetFetchResponse),
    "FindCoordinator": (kafka_metadata.FindCoordinatorRequest, kafka_metadata.FindCoordinatorResponse),
    "JoinGroup": (kafka_consumer.JoinGroupRequest, kafka_consumer.JoinGroupResponse),
    "Heartbeat": (kafka_consumer.HeartbeatRequest, kafka_consumer.HeartbeatResponse),
    "LeaveGroup": (kafka_consumer.LeaveGroupRequest, kafka_consumer.LeaveGroupResponse),
    "SyncGroup": (kafka_consumer.SyncGroupRequest, kafka_consumer.SyncGroupResponse),
    "ApiVersions": (kafka_metadata.ApiVersionsRequest, kafka_metadata.ApiVersionsResponse),
    "InitProducerId": (kafka_producer.InitProducerIdRequest, kafka_producer.InitProducerIdResponse),
}
UNSUPPORTED_VERSION = 35
# Tagged fields of ApiVersions v3 and later (KIP-584) as a broker of Kafka 4.2 writes them: name, the versions
# that it supports, the version that the cluster has finalized.
_FEATURES = (
    ("group.version", 0, 1, 1),
    ("kraft.version", 0, 1, 1),
    ("metadata.version", 7, 29, 29),
    ("share.version", 0, 1, 1),
    ("streams.version", 0, 1, 1),
    ("transaction.version", 0, 2, 2),
    ("eligible.leader.replicas.version", 0, 1, 1),
)
FEATURES = {
    "supported_features": [
        {"name": name, "min_version": low, "max_version": high} for name, low, high, _ in _FEATURES
    ],
    "finalized_features_epoch": 44,
    "finalized_features": [
        {"name": name, "max_version_level": level, "min_version_level": level}
        for name, _, _, level in _FEATURES
    ],
}
TAGGED_FEATURES = (3, 3)  # the first release whose clusters are in KRaft mode and finalize metadata.version
Values = dict[str, object]
Fields = Mapping[str, object]
Release = tuple[int, int]
Pair = tuple[Template, Template]


class Client:
    """One program; several connections may belong to it."""

    __slots__ = ("broker", "client_id", "cluster", "release")

    def __init__(self, cluster: Cluster, broker: Broker, release: Release, client_id: str | None) -> None:
        self.cluster = cluster
        self.broker = broker
        self.release = release
        self.client_id = client_id

    def version(self, api: str) -> int:
        """Return what client and cluster agree on: the highest version both releases have (kafka-python's
        table).
        """
        key = MESSAGES[api][0].API_KEY
        ours = BROKER_API_VERSIONS[self.release][key][1]
        return int(min(ours, BROKER_API_VERSIONS[self.cluster.release][key][1]))

    def request(self, api: str, values: Fields, version: int | None = None) -> Template:
        """Return one encoded request."""
        return build(
            MESSAGES[api][0], self.version(api) if version is None else version, values, self.client_id
        )

    def response(self, api: str, values: Fields, version: int | None = None) -> Template:
        """Return one encoded response."""
        return build(MESSAGES[api][1], self.version(api) if version is None else version, values)

    def pair(self, api: str, request: Fields, response: Fields) -> Pair:
        """Return both sides of an exchange."""
        return self.request(api, request), self.response(api, {"throttle_time_ms": 0, **response})

    def api_versions(self) -> list[Pair]:
        """Return the first exchange of a connection; two when the client is newer than the broker.

        The refusal is a v0 body with error 35 (KIP-511), the second try uses the version the refusal names.
        """
        ranges = BROKER_API_VERSIONS[self.cluster.release]
        keys = [{"api_key": k, "min_version": low, "max_version": high} for k, (low, high) in ranges.items()]
        release = "{}.{}.0".format(*self.release)
        software = {"client_software_name": "apache-kafka-java", "client_software_version": release}
        body: Values = {"error_code": 0, "api_keys": keys}
        if self.cluster.release >= TAGGED_FEATURES:
            body |= FEATURES
        newest = BROKER_API_VERSIONS[self.release][18][1]
        pairs = [self.pair("ApiVersions", software, body)]
        if newest > ranges[18][1]:
            only = [key for key in keys if key["api_key"] == 18]
            refusal: Values = {"error_code": UNSUPPORTED_VERSION, "api_keys": only}
            request = self.request("ApiVersions", software, newest)
            pairs.insert(0, (request, self.response("ApiVersions", refusal, 0)))
        return pairs

    def metadata(self, topics: list[Topic]) -> Pair:
        """Metadata of these topics, by name."""
        names = [{"name": topic.name} for topic in topics]
        request: Values = {"topics": names, "allow_auto_topic_creation": True}
        return self.pair("Metadata", request, metadata_values(self.cluster, topics))

    def coordinator(self, group: str) -> Pair:
        """FindCoordinator answered with the broker this client is connected to (a list from v4, KIP-699)."""
        where = {"node_id": self.broker.node, "host": self.broker.host, "port": PORT, "error_code": 0}
        where["error_message"] = None
        request: Values = {"key": group, "key_type": 0, "coordinator_keys": [group]}
        return self.pair("FindCoordinator", request, {**where, "coordinators": [{"key": group, **where}]})
