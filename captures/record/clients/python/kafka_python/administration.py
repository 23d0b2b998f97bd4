"""Every call of kafka-python's admin client, once."""

from collections.abc import Callable
from typing import Any

from driving import Options, outcome
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka.structs import OffsetAndMetadata

_Calls = dict[str, Callable[[], Any]]


def run(settings: dict[str, Any], options: Options) -> None:
    """Call after call; what the broker or the client refuses is printed."""
    admin = KafkaAdminClient(**settings, request_timeout_ms=8000)
    topic, group = options["topic"], options["group"]
    for calls in (
        _topics(admin, topic),
        _groups(admin, topic, group),
        _security(admin),
        _cluster(admin, topic),
    ):
        for name, call in calls.items():
            outcome(name, call)
    outcome("delete_topics", lambda: admin.delete_topics([topic]))
    admin.close()


def _topics(admin: KafkaAdminClient, topic: str) -> _Calls:
    part = TopicPartition(topic, 0)
    config = ConfigResource("TOPIC", topic, configs={"retention.ms": "3600000"})
    return {
        "create_topics": lambda: admin.create_topics([NewTopic(topic, 2, 1)]),
        "create_topics again": lambda: admin.create_topics([NewTopic(topic, 2, 1)]),
        "create_partitions": lambda: admin.create_partitions({topic: NewPartitions(3)}),
        "list_topics": admin.list_topics,
        "describe_topics": lambda: admin.describe_topics([topic]),
        "describe_topic_partitions": lambda: admin.describe_topic_partitions([topic]),
        "alter_configs": lambda: admin.alter_configs([config]),
        "alter_configs whole": lambda: admin.alter_configs([config], incremental=False),
        "describe_configs": lambda: admin.describe_configs([ConfigResource("TOPIC", topic)]),
        "reset_configs": lambda: admin.reset_configs([config]),
        "list_partition_offsets": lambda: admin.list_partition_offsets({part: OffsetSpec.LATEST}),
        "delete_records": lambda: admin.delete_records({part: 0}),
        "describe_producers": lambda: admin.describe_producers([part]),
    }


def _groups(admin: KafkaAdminClient, topic: str, group: str) -> _Calls:
    part = TopicPartition(topic, 0)
    return {
        "alter_group_offsets": lambda: admin.alter_group_offsets(
            group, {part: OffsetAndMetadata(0, "set", -1)}
        ),
        "list_group_offsets": lambda: admin.list_group_offsets({group: [part]}),
        "reset_group_offsets": lambda: admin.reset_group_offsets(group, {part: OffsetSpec.EARLIEST}),
        "list_groups": admin.list_groups,
        "describe_groups": lambda: admin.describe_groups([group]),
        "delete_group_offsets": lambda: admin.delete_group_offsets(group, [part]),
        "delete_groups": lambda: admin.delete_groups([group]),
        "list_transactions": admin.list_transactions,
        "describe_transactions": lambda: admin.describe_transactions(["kp-tx"]),
    }


def _security(admin: KafkaAdminClient) -> _Calls:
    about = ("User:reader", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
    pattern = ResourcePattern(ResourceType.TOPIC, "managed")
    user = UserScramCredentialUpsertion(
        "carol", ScramMechanism.SCRAM_SHA_256, "carol-secret", iterations=4096
    )
    gone = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256)
    return {
        "create_acls": lambda: admin.create_acls([ACL(*about, pattern)]),
        "describe_acls": lambda: admin.describe_acls(ACLFilter(*about, pattern)),
        "delete_acls": lambda: admin.delete_acls([ACLFilter(*about, pattern)]),
        "alter_user_scram_credentials": lambda: admin.alter_user_scram_credentials([user]),
        "describe_user_scram_credentials": lambda: admin.describe_user_scram_credentials(["carol"]),
        "alter_user_scram_credentials delete": lambda: admin.alter_user_scram_credentials([gone]),
    }


def _cluster(admin: KafkaAdminClient, topic: str) -> _Calls:
    part = TopicPartition(topic, 0)
    return {
        "describe_cluster": admin.describe_cluster,
        "api_versions": admin.api_versions,
        "describe_features": admin.describe_features,
        "describe_metadata_quorum": admin.describe_metadata_quorum,
        "describe_log_dirs": lambda: admin.describe_log_dirs({topic: [0]}),
        "list_config_resources": admin.list_config_resources,
        "elect_leaders": lambda: admin.elect_leaders(0, {topic: [0]}),
        "alter_partition_reassignments": lambda: admin.alter_partition_reassignments({part: [1]}),
        "list_partition_reassignments": lambda: admin.list_partition_reassignments({topic: [0]}),
    }
