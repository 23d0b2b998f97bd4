"""Every call of the admin client of confluent-kafka, once."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ElectionType,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from driving import Options, outcome

_Calls = dict[str, Callable[[], Any]]
_ACL = ("User:reader", "*", AclOperation.READ, AclPermissionType.ALLOW)
_ABOUT = (ResourceType.TOPIC, "managed", ResourcePatternType.LITERAL)
_WAIT = 8  # seconds


def run(settings: dict[str, Any], options: Options) -> None:
    """Call after call; what the broker refuses is printed."""
    admin = AdminClient(settings)
    topic, group = options["topic"], options["group"]
    for calls in (
        _topics(admin, topic),
        _groups(admin, topic, group),
        _security(admin),
        _cluster(admin, topic),
    ):
        for name, call in calls.items():
            outcome(name, lambda call=call: settle(call()))
    outcome("delete_topics", lambda: settle(admin.delete_topics([topic])))


def settle(answer: Any) -> None:
    """Wait for the futures an admin call returns; raises what they failed with."""
    futures = answer.values() if isinstance(answer, dict) else [answer]
    for future in futures:
        if hasattr(future, "result"):
            future.result(_WAIT)


def share_from_start(settings: dict[str, Any], group: str) -> None:
    """Make a share group read from the start of its topics: a setting of the group on the broker."""
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    admin = AdminClient(settings)  # kept: its futures fail once it is gone
    outcome("group config", lambda: settle(admin.incremental_alter_configs([resource])))


def _topics(admin: AdminClient, topic: str) -> _Calls:
    part = TopicPartition(topic, 0)
    entry = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    whole = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.ms": "3600000"})
    return {
        "create_topics": lambda: admin.create_topics([NewTopic(topic, 2, 1)]),
        "create_topics again": lambda: admin.create_topics([NewTopic(topic, 2, 1)]),
        "create_partitions": lambda: admin.create_partitions([NewPartitions(topic, 3)]),
        "list_topics": lambda: admin.list_topics(topic, timeout=_WAIT),
        "describe_topics": lambda: admin.describe_topics(
            TopicCollection([topic]), include_authorized_operations=True
        ),
        "incremental_alter_configs": lambda: admin.incremental_alter_configs([changed]),
        "alter_configs": lambda: admin.alter_configs([whole]),
        "describe_configs": lambda: admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]),
        "list_offsets": lambda: admin.list_offsets({part: OffsetSpec.latest()}),
        "delete_records": lambda: admin.delete_records([TopicPartition(topic, 0, 0)]),
    }


def _groups(admin: AdminClient, topic: str, group: str) -> _Calls:
    at = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0)])
    asked = ConsumerGroupTopicPartitions(f"{group}-other")  # with offsets to tell, 2.16.1 crashes
    return {
        "alter_consumer_group_offsets": lambda: admin.alter_consumer_group_offsets([at]),
        "list_consumer_group_offsets": lambda: admin.list_consumer_group_offsets([asked]),
        "list_consumer_groups": lambda: admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}),
        "list_groups": lambda: admin.list_groups(timeout=_WAIT),
        "describe_consumer_groups": lambda: admin.describe_consumer_groups(
            [group], include_authorized_operations=True
        ),
        "delete_consumer_groups": lambda: admin.delete_consumer_groups([group]),
    }


def _security(admin: AdminClient) -> _Calls:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    user = UserScramCredentialUpsertion("carol", info, b"carol-secret")
    gone = UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256)
    return {
        "create_acls": lambda: admin.create_acls([AclBinding(*_ABOUT, *_ACL)]),
        "describe_acls": lambda: admin.describe_acls(AclBindingFilter(*_ABOUT, *_ACL)),
        "delete_acls": lambda: admin.delete_acls([AclBindingFilter(*_ABOUT, *_ACL)]),
        "alter_user_scram_credentials": lambda: admin.alter_user_scram_credentials([user]),
        "describe_user_scram_credentials": lambda: admin.describe_user_scram_credentials(["carol"]),
        "alter_user_scram_credentials delete": lambda: admin.alter_user_scram_credentials([gone]),
    }


def _cluster(admin: AdminClient, topic: str) -> _Calls:
    part = TopicPartition(topic, 0)
    return {
        "cluster_id": lambda: admin.cluster_id(_WAIT),
        "describe_cluster": lambda: admin.describe_cluster(include_authorized_operations=True),
        "elect_leaders": lambda: admin.elect_leaders(ElectionType.PREFERRED, [part]),
    }
