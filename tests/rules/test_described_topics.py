"""Names, ids and addresses in answers: what the rules about them leave out, and where else they look."""

from tests.rules.fixtures.case import said
from tests.rules.scripted_connection import Fields, findings

TOPIC_ID = bytes(range(16))
ZERO = bytes(16)


def loud(api: str, version: int, asked: Fields, answered: Fields) -> dict[str, str]:
    """Paths of errors and warnings, by code."""
    found = findings(said(api, version, asked, answered))
    return {one.code: one.place.path for one in found if one.severity != "info"}


def member(**fields: object) -> Fields:
    """ConsumerGroupDescribe with one member."""
    one = {"member_id": "m", "assignment": {}, "target_assignment": {}, **fields}
    return {"groups": [{"group_id": "g", "group_state": "Stable", "assignor_name": "u", "members": [one]}]}


DESCRIBE: Fields = {"group_ids": ["g"]}


def test_members_subscribe_to_any_name() -> None:
    assert not loud("ConsumerGroupDescribe", 0, DESCRIBE, member(subscribed_topic_names=["a/b"]))
    held = {"topic_partitions": [{"topic_id": TOPIC_ID, "topic_name": "a/b", "partitions": [0]}]}
    found = loud("ConsumerGroupDescribe", 0, DESCRIBE, member(assignment=held))
    where = "groups[0].members[0].assignment.topic_partitions[0].topic_name"
    assert found == {"BDY032": f"ConsumerGroupDescribeResponse.{where}"}


def test_a_topic_whose_partition_has_an_error_may_have_no_id() -> None:
    asked: Fields = {"group_id": "g", "topics": [{"topic_name": "a", "partitions": [{"partition_index": 0}]}]}

    def answer(error: int) -> Fields:
        rows = [{"partition_index": 0, "error_code": error}]
        return {"responses": [{"topic_name": "a", "topic_id": ZERO, "partitions": rows}]}

    assert not loud("AlterShareGroupOffsets", 0, asked, answer(3))
    assert set(loud("AlterShareGroupOffsets", 0, asked, answer(0))) == {"BDY033"}


def test_controllers_have_addresses_to_connect_to() -> None:
    row = {"partition_index": 0, "leader_id": 1, "leader_epoch": 2}
    topics = [{"topic_name": "__cluster_metadata", "partitions": [row]}]
    ends = [{"node_id": 1, "host": "", "port": 9093}]
    asked: Fields = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
    found = loud("BeginQuorumEpoch", 1, asked, {"topics": topics, "node_endpoints": ends})
    assert found["MET013"] == "BeginQuorumEpochResponse.node_endpoints[0].host"


def test_a_config_that_was_asked_for_is_among_the_configs() -> None:
    wanted = [{"name": "retention.ms", "value": "1"}]
    topic = {"name": "a", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": wanted}

    def created(name: str) -> Fields:
        made = {"name": "a", "topic_id": TOPIC_ID, "num_partitions": 1, "replication_factor": 1}
        return {"topics": [{**made, "configs": [{"name": name, "value": "1"}]}]}

    asked: Fields = {"topics": [topic], "timeout_ms": 1, "validate_only": False}
    assert not loud("CreateTopics", 7, asked, created("retention.ms"))
    assert loud("CreateTopics", 7, asked, created("segment.ms")) == {
        "ADM017": "CreateTopicsResponse.topics[0].configs"
    }


def test_a_code_below_all_is_an_error_and_one_above_is_newer() -> None:
    asked: Fields = {"group_id": "g"}
    assert set(loud("Heartbeat", 4, asked, {"error_code": -7})) == {"BDY031"}
    assert not loud("Heartbeat", 4, asked, {"error_code": -1})
    assert not loud("Heartbeat", 4, asked, {"error_code": 31000})
