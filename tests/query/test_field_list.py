"""Which fields are listed for the beginning of a name, and what the list has of each."""

import pytest

from kdissect.query.fields.field_list import FieldInfo, fields

SHARED = "DescribeShareGroupOffsets"


@pytest.mark.parametrize(
    ("prefix", "first", "last", "number"),
    [
        ("latency", "latency_ns", "latency", 2),
        ("request.packets", "request.packets", "request.packets.last_file", 5),
        ("request.topic_data.", "request.topic_data.name", "request.topic_data.topic_id", 5),
        ("response.throttle", "response.throttle_time_ms", "response.throttle_time_ms", 1),
        ("thr", "throttle", "throttle", 1),
        ("nothing", "", "", 0),
    ],
)
def test_names_by_their_beginning(prefix: str, first: str, last: str, number: int) -> None:
    names = [info.name for info in fields(prefix)]
    assert len(names) == number
    assert all(name.startswith(prefix) for name in names)
    assert ([*names[:1], *names[-1:]] or ["", ""]) == [first, last]


def test_bodies_are_listed_behind_a_dot() -> None:
    assert "request.acks" not in {info.name for info in fields()} | {info.name for info in fields("request")}
    assert "request.acks" in {info.name for info in fields("request.")}
    names = [info.name for info in fields("request.a")]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("name", "info"),
    [
        ("latency", ("duration", "ns", "short for `latency_ns`")),
        ("request.acks", ("enum", "", "in Produce 0+")),
        ("request.max_wait_ms", ("duration", "ms", "in Fetch 0+, ShareFetch 0+")),
        ("request.topic_data.partition_data.records", ("size", "bytes", "in Produce 0+")),
        ("request.groups", ("struct or string", "", f"in OffsetFetch 8+, DescribeGroups 0+, {SHARED} 0+")),
        (
            "request.group_instance_id",
            (
                "string", "",
                "in OffsetCommit 7+, JoinGroup 5+, Heartbeat 3+, SyncGroup 3+, TxnOffsetCommit 3+",
            ),
        ),
        (
            "request.topics.partitions.leader_epoch",
            (
                "int", "",
                "in OffsetForLeaderEpoch 0+, BeginQuorumEpoch 0+, EndQuorumEpoch 0+, AlterPartition 0+,"
                " ReadShareGroupState 0+ and 2 more",
            ),
        ),
    ],
)  # fmt: skip
def test_facts(name: str, info: tuple[str, str, str]) -> None:
    found = next(each for each in fields(name) if each.name == name)
    assert found == FieldInfo(name, *info)
