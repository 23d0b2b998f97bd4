"""Group protocols and assignors' data, as Apache Kafka's own serializers write them."""

from typing import Any

import pytest

from kdissect.decoders.payloads.nesting import find
from kdissect.decoders.payloads.scope import Scope
from tests.decoders.payloads.vectors import decoded, groups

STREAMS = {"protocol_name": "stream"}
CONSUMER = {"protocol_type": "consumer"}
CONNECT = {"protocol_type": "connect"}
CLICKS_3 = {"topic": "clicks", "partition": 3}


def value(place: str, name: str, facts: dict[str, Any]) -> Any:
    told = decoded(place, groups()[name], facts)
    assert told is not None
    assert "why" not in told
    message, _, version = name.partition(" v")
    assert told["payload"] == message
    if "Sticky" not in message:
        assert told["version"] == int(version)
    return told["value"]


@pytest.mark.parametrize("version", range(4))
def test_consumer_subscriptions(version: int) -> None:
    expected: dict[str, Any] = {"topics": ["clicks", "orders"], "user_data": {"base64": "AQI="}}
    if version >= 1:
        expected["owned_partitions"] = [{"topic": "orders", "partitions": [1]}]
    if version >= 2:
        expected["generation_id"] = 12
    if version >= 3:
        expected["rack_id"] = "rack-a"
    name = f"ConsumerProtocolSubscription v{version}"
    assert value("groupMetadata", name, CONSUMER) == expected
    assert value("groupMetadata", name, {}) == expected  # recognised: old responses do not say the type


@pytest.mark.parametrize("version", range(4))
def test_consumer_assignments(version: int) -> None:
    partitions = [{"topic": "orders", "partitions": [1]}, {"topic": "clicks", "partitions": [0]}]
    expected = {"assigned_partitions": partitions, "user_data": None}
    assert value("groupAssignment", f"ConsumerProtocolAssignment v{version}", CONSUMER) == expected
    assert value("groupAssignment", f"ConsumerProtocolAssignment v{version}", {}) == expected


@pytest.mark.parametrize("version", range(1, 12))
def test_streams_assignments(version: int) -> None:
    found = value("assignmentUserData", f"AssignmentInfo v{version}", STREAMS)
    name = {"named_topology": [ord(letter) for letter in "top"]} if version >= 10 else {}
    none = {"named_topology": []} if version >= 10 else {}
    assert found["active_tasks"] == [{"topic_group_id": 1, "partition": 0} | name]
    standby = [{"topic_group_id": 2, "partition": 3} | none | {"topic_partitions": [CLICKS_3]}]
    assert found["standby_tasks"] == standby
    assert found.get("error_code") == (2 if version >= 4 else None)
    assert found.get("next_rebalance_ms") == (1234567890123 if version >= 7 else None)
    assert ("partitions_by_host" in found) == (2 <= version <= 4)
    if version >= 5:
        topics = {entry["index"]: entry["topic"] for entry in found["topic_dictionary"]}
        (host,) = found["partitions_by_host_indexed"]
        assert (host["host"], host["port"]) == ("hostä", 8080)
        assert [(topics[p["topic_index"]], p["partition"]) for p in host["topic_partitions"]] == [
            ("orders", 0)
        ]
    if version >= 6:
        (host,) = found["standby_partitions_by_host"]
        assert (host["host"], host["port"]) == ("other", 8081)
        assert [(topics[p["topic_index"]], p["partition"]) for p in host["topic_partitions"]] == [
            ("clicks", 3)
        ]
    assert value("assignmentUserData", f"AssignmentInfo v{version}", {}) == found


@pytest.mark.parametrize("version", range(1, 12))
def test_streams_subscriptions(version: int) -> None:
    found = value("subscriptionUserData", f"SubscriptionInfoData v{version}", STREAMS)
    assert found["version"] == version
    assert found.get("latest_supported_version") == (11 if version >= 3 else None)
    if version >= 2:
        assert found["user_end_point_decoded"] == {"payload": "Text", "value": "hostä:8080"}
    if version >= 10:
        sums = [
            (task["topic_group_id"], task["partition"], task["offset_sum"])
            for task in found["task_offset_sums"]
        ]
        assert sums == [(2, 3, -2), (4, 1, 77)]
    elif version < 7:
        assert found["prev_tasks"] == [{"topic_group_id": 2, "partition": 3}]
        assert found["standby_tasks"] == [{"topic_group_id": 4, "partition": 1}]
    if version >= 11:
        (tag,) = found["client_tags"]
        assert (tag["key_decoded"]["value"], tag["value_decoded"]["value"]) == ("zone", "eu-1")


def test_streams_versions_of_the_future_tell_their_number_alone() -> None:
    data = (12).to_bytes(4) + bytes(20)
    told = decoded("subscriptionUserData", data, STREAMS)
    assert told == {"payload": "SubscriptionInfoData", "value": {"version": 12}}


@pytest.mark.parametrize("version", range(3))
def test_connect(version: int) -> None:
    assignment = value("groupAssignment", f"ConnectProtocolAssignment v{version}", CONNECT)
    assert (assignment["leader"], assignment["leader_url"], assignment["config_offset"]) == (
        "leader-1", "http://a:8083/", 42,
    )  # fmt: skip
    tasks = [-1, 0, 2] if version == 0 else [-1, 1]
    assert assignment["assignment"] == [{"connector": "sink", "tasks": tasks}]
    metadata = value("groupMetadata", f"ConnectProtocolMetadata v{version}", CONNECT)
    assert (metadata["url"], metadata["config_offset"]) == ("http://b:8083/", 7)
    if version:
        assert assignment["revoked"] == [{"connector": "old", "tasks": [-1, 0]}]
        assert assignment["scheduled_delay"] == 300000
        assert metadata["allocation_decoded"]["value"] == assignment


def test_connect_may_leave_out_what_has_a_default() -> None:
    data = groups()["ConnectProtocolMetadata v0"]
    told = decoded("groupMetadata", b"\0\x02" + data[2:], CONNECT)
    assert told is not None
    assert "why" not in told
    assert told["version"] == 2


def test_sticky_assignors() -> None:
    sticky = value("subscriptionUserData", "StickyAssignorUserData v1", {"protocol_name": "sticky"})
    assert sticky == {"previous_assignment": [{"topic": "orders", "partitions": [0, 2]}], "generation": 9}
    older = decoded("subscriptionUserData", groups()["StickyAssignorUserData v1"][:-4], {"name": "sticky"})
    assert older is not None
    assert older["value"] == {"previous_assignment": sticky["previous_assignment"]}
    facts = {"protocol_name": "cooperative-sticky"}
    assert value("subscriptionUserData", "CooperativeStickyAssignorUserData v0", facts) == {"generation": 17}
    # librdkafka writes the sticky layout under this name
    assert value("subscriptionUserData", "StickyAssignorUserData v1", facts) == sticky
    # kafka-python 3 writes the version before it
    prefixed = decoded("subscriptionUserData", b"\0\1" + groups()["StickyAssignorUserData v1"], facts)
    assert prefixed == {"payload": "StickyAssignorUserData", "version": 1, "value": sticky}
    # Java's "no generation" has the form of a negative count
    none = groups()["CooperativeStickyAssignorUserData none"]
    assert decoded("subscriptionUserData", none, facts)["value"] == {"generation": -1}  # type: ignore[index]
    assert decoded("subscriptionUserData", none, {"protocol_name": "sticky"}) is None
    assert decoded("subscriptionUserData", none, {"protocol_name": "my-own"}) is None


def test_versions_of_the_future_are_read_as_far_as_known() -> None:
    data = groups()["ConsumerProtocolSubscription v3"]
    told = decoded("groupMetadata", b"\0\x09" + data[2:] + b"new field", CONSUMER)
    assert told is not None
    assert "why" not in told
    assert (told["version"], told["value"]["rack_id"]) == (9, "rack-a")


def test_a_version_that_lies_is_told() -> None:
    data = groups()["ConsumerProtocolSubscription v0"]
    told = decoded("groupMetadata", b"\0\x01" + data[2:], CONSUMER)
    assert told is not None
    assert told["value"]["topics"] == ["clicks", "orders"]
    assert "says version 1, is laid out as 0" in told["why"]


@pytest.mark.parametrize(
    "data", [b"\0", b"\xff\xff", b"\0\0", b"\0\0\0\0\0\x01\0\x09abc", b"\0\x03" + bytes(40)]
)
def test_what_does_not_fit_says_why(data: bytes) -> None:
    told = decoded("groupMetadata", data, CONSUMER)
    assert told is not None
    assert "why" in told


@pytest.mark.exhaustive
def test_every_cut_and_flip_raises_nothing() -> None:
    places = (
        "groupMetadata",
        "groupAssignment",
        "subscriptionUserData",
        "assignmentUserData",
        "connectAssignment",
    )
    facts: list[dict[str, Any]] = [{}, STREAMS, CONNECT, CONSUMER, {"name": "sticky"}]
    for name, data in groups().items():
        if name.startswith(("AssignmentInfo v11", "Consumer", "ConnectProtocolAssignment v2")):
            for end in range(len(data)):
                for place in places:
                    decoded(place, data[:end], facts[end % 5])
                    decoded(place, data[:end] + bytes([data[end] ^ 0xFF]) + data[end + 1 :], facts[end % 5])


def test_unknown_types_and_empty_bytes_stay_bytes() -> None:
    assert decoded("groupMetadata", b"\1\2\3", {"protocol_type": "my-own"}) is None
    assert decoded("groupMetadata", b"\1\2\3", {}) is None
    assert find("groupAssignment", b"", 0, 0, Scope(CONSUMER)) is None


def test_schema_registry_is_json() -> None:
    told = decoded("groupMetadata", b'{"version":1,"host":"sr"}', {"protocol_type": "sr"})
    assert told == {"payload": "SchemaRegistryMetadata", "value": {"version": 1, "host": "sr"}}
    broken = decoded("groupAssignment", b'{"version":', {"protocol_type": "sr"})
    assert broken is not None
    assert broken["value"] is None
    assert "no JSON" in broken["why"]
