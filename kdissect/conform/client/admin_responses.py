"""Responses that clients need besides records and groups: versions, topics made and deleted, configs."""

from __future__ import annotations

from kdissect.conform.client.cluster_state import CLUSTER_ID, Body, ClusterState
from kdissect.conform.client.cluster_topics import NODES, PARTITIONS
from kdissect.conform.client.exchange_log import Asked
from kdissect.conform.client.record_responses import UNKNOWN_TOPIC
from kdissect.schema.protocol_messages import API_VERSIONS

_UNSUPPORTED_VERSION = 35
_TOPIC_EXISTS = 36
_MAX_PARTITIONS = 100


def api_versions(state: ClusterState, _: Asked) -> Body:
    """Return the body for ApiVersions."""
    rows = [
        {"api_key": key, "min_version": low, "max_version": high}
        for key, (low, high) in sorted(state.versions.items())
    ]
    return {"api_keys": rows}


def refused_version(state: ClusterState) -> Body:
    """Return the body of version 0 for an ApiVersions version that is not advertised (KIP-511)."""
    low, high = state.versions[API_VERSIONS]
    row = {"api_key": API_VERSIONS, "min_version": low, "max_version": high}
    return {"error_code": _UNSUPPORTED_VERSION, "api_keys": [row]}


def create_topics(state: ClusterState, asked: Asked) -> Body:
    """Return the body for CreateTopics."""
    rows = []
    for row in asked.body.topics:
        is_known = row.name in state.topics.by_name
        count = row.num_partitions if 0 < row.num_partitions <= _MAX_PARTITIONS else PARTITIONS
        topic = None if asked.get("validate_only") else state.topics.named(str(row.name), count)
        rows.append({
            "name": row.name, "topic_id": topic.id if topic else bytes(16),
            "error_code": _TOPIC_EXISTS if is_known else 0, "error_message": None,
            "num_partitions": count, "replication_factor": len(NODES), "configs": [],
        })  # fmt: skip
    return {"topics": rows}


def delete_topics(state: ClusterState, asked: Asked) -> Body:
    """Return the body for DeleteTopics."""
    rows = asked.get("topics")
    names = list(asked.get("topic_names", ())) if rows is None else []
    for row in rows or ():
        topic = state.topics.with_id(row.topic_id)
        names.append(row.name or (topic.name if topic else None))
    found = []
    for name in names:
        topic = state.topics.by_name.pop(name, None)
        found.append({
            "name": name, "topic_id": topic.id if topic else bytes(16),
            "error_code": 0 if topic else UNKNOWN_TOPIC,
        })  # fmt: skip
    return {"responses": found}


def describe_cluster(state: ClusterState, _: Asked) -> Body:
    """Return the body for DescribeCluster."""
    return {"cluster_id": CLUSTER_ID, "controller_id": NODES[0], "brokers": state.brokers()}


def describe_configs(_: ClusterState, asked: Asked) -> Body:
    """Return the body for DescribeConfigs: no resource has configs."""
    rows = [
        {
            "resource_type": row.resource_type, "resource_name": row.resource_name, "configs": [],
            "error_message": None,
        }
        for row in asked.body.resources
    ]  # fmt: skip
    return {"results": rows}


HANDLERS = {
    "ApiVersions": api_versions,
    "CreateTopics": create_topics,
    "DeleteTopics": delete_topics,
    "DescribeCluster": describe_cluster,
    "DescribeConfigs": describe_configs,
}
