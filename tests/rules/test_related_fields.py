"""Rules about fields that go together: what their fixtures do not show."""

import pytest

from tests.rules.fixtures.case import said
from tests.rules.fixtures.relations import epoch_end
from tests.rules.fixtures.values import BATCH, TOPIC_ID
from tests.rules.scripted_connection import Fields, findings

PRODUCED = {"name": "a", "partition_data": [{"index": 0, "records": BATCH}]}
ROW = {"partition_index": 0, "leader_id": 1, "leader_epoch": 1, "replica_nodes": [1, 2], "isr_nodes": [1, 2]}


@pytest.mark.parametrize(
    ("changed", "code"),
    [({}, None), ({"isr_nodes": [2]}, "MET009"), ({"error_code": 5}, "MET010")],
)
def test_partitions_are_described_in_two_answers(changed: Fields, code: str | None) -> None:
    topic = {"name": "a", "topic_id": TOPIC_ID, "partitions": [ROW | dict(changed)]}
    asked: Fields = {"topics": [{"name": "a"}], "response_partition_limit": 9}
    found = findings(said("DescribeTopicPartitions", 0, asked, {"topics": [topic]}))
    assert {finding.code for finding in found} == ({code} if code else set())


@pytest.mark.parametrize("epochs", [(7, 4), (4, 7)])
def test_a_partition_that_is_asked_for_twice_has_the_later_epoch(epochs: tuple[int, int]) -> None:
    rows = [{"partition": 0, "leader_epoch": epoch} for epoch in epochs]
    asked: Fields = {"topics": [{"topic": "a", "partitions": rows}]}
    found = findings(said("OffsetForLeaderEpoch", 4, asked, epoch_end(7)))
    assert "MET014" not in {finding.code for finding in found}


@pytest.mark.parametrize("offsets", [(100, 40), (40, 100)])
def test_records_may_be_deleted_up_to_either_offset(offsets: tuple[int, int]) -> None:
    rows = [{"partition_index": 0, "offset": offset} for offset in offsets]
    answer = {"topics": [{"name": "a", "partitions": [{"partition_index": 0, "low_watermark": 40}]}]}
    found = findings(said("DeleteRecords", 1, {"topics": [{"name": "a", "partitions": rows}]}, answer))
    assert "ADM021" not in {finding.code for finding in found}


TOPIC = {"name": "a", "topic_id": TOPIC_ID, "partitions": [ROW | {"isr_nodes": [1]}]}
STREAMS = {
    "group_id": "g", "group_state": "Empty", "members": [],
    "topology_description": {"subtopologies": [], "global_stores": []},
}  # fmt: skip
OPERATIONS = {"cluster_authorized_operations": 8}


@pytest.mark.parametrize(
    ("api", "version", "asked", "answered", "codes"),
    [
        ("DescribeCluster", 0, {"include_cluster_authorized_operations": False}, OPERATIONS, {"PAI018"}),
        ("DescribeCluster", 0, {"include_cluster_authorized_operations": True}, OPERATIONS, set()),
        (  # no operation, as Kafka 2.3 says where nobody asks
            "DescribeCluster", 0, {"include_cluster_authorized_operations": False},
            {"cluster_authorized_operations": 0}, set(),
        ),
        ("DescribeTopicPartitions", 0, {"topics": [{"name": "a"}]}, {"topics": [TOPIC]}, set()),
        ("StreamsGroupDescribe", 1, {"group_ids": ["g"]}, {"groups": [STREAMS]}, {"PAI018"}),
        (
            "StreamsGroupDescribe", 1, {"group_ids": ["g"], "include_topology_description": True},
            {"groups": [STREAMS]}, set(),
        ),
        (
            "DescribeTopicPartitions", 0, {"topics": [{"name": "a"}], "response_partition_limit": 1},
            {"topics": [TOPIC | {"partitions": [ROW, ROW | {"partition_index": 1}]}]}, {"PAI018"},
        ),
        (
            "DescribeTopicPartitions", 0, {"topics": [{"name": "a"}]},
            {"topics": [TOPIC | {"partitions": [ROW | {"eligible_leader_replicas": [2]}]}]}, {"BDY030"},
        ),
        (
            "DescribeTopicPartitions", 0, {"topics": [{"name": "a"}]},
            {"topics": [TOPIC | {"partitions": [ROW | {"isr_nodes": [1], "eligible_leader_replicas": [2]}]}]},
            set(),
        ),
    ],
)  # fmt: skip
def test_what_is_not_asked_for_and_what_has_nothing_in_common(
    api: str, version: int, asked: Fields, answered: Fields, codes: set[str]
) -> None:
    limit = {"response_partition_limit": 9} if api == "DescribeTopicPartitions" else {}
    found = findings(said(api, version, limit | dict(asked), answered))
    assert {finding.code for finding in found} - {"BDY020"} == codes


@pytest.mark.parametrize(("error", "codes"), [(0, {"BDY030"}), (87, set())])
def test_an_accepted_batch_has_no_refused_records(error: int, codes: set[str]) -> None:
    asked = {"acks": -1, "transactional_id": None, "topic_data": [PRODUCED]}
    row = {"index": 0, "error_code": error, "base_offset": -1 if error else 5}
    row |= {"record_errors": [{"batch_index": 0, "batch_index_error_message": None}]}
    found = findings(said("Produce", 8, asked, {"responses": [{"name": "a", "partition_responses": [row]}]}))
    assert {finding.code for finding in found} == codes
