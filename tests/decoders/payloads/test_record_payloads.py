"""Records of Kafka's own logs and control records, as Apache Kafka's serializers write them."""

from typing import Any

import pytest

from kdissect.decoders.payloads.nesting import Expander, nest, payload_jsonable
from kdissect.decoders.payloads.records import NOTHING, decode_record, find_record
from kdissect.decoders.payloads.scope import Scope
from kdissect.model.errors import SchemaError
from kdissect.schema import protocol_messages
from kdissect.schema.logs import Framing, all_logs, log, parse_logs
from tests.decoders.payloads.vectors import assert_tiles, records

TOPIC_ID = "AQIDBAUGBwgREhMUFRYXGA"


def told(name: str, index: int = 0) -> tuple[Any, Any]:
    topic, _, key, value = [row for row in records() if row[1] == name][index]
    found = decode_record(topic, key, value, topic == "control")
    for payload in found:
        assert payload is None or payload.error is None
    scope = Scope()
    shown = [payload and payload_jsonable(payload, False, Expander(scope, False, [])) for payload in found]
    return shown[0], shown[1]


@pytest.mark.parametrize("index", range(len(records())))
def test_every_record_decodes_whole_and_its_tree_says_the_same(index: int) -> None:
    topic, name, key, value = records()[index]
    found = decode_record(topic, key, value, topic == "control")
    spans = [None if part is None else (b"?" + part + b"??", 1, 1 + len(part)) for part in (key, value)]
    layouts = find_record(topic, spans[0], spans[1], topic == "control")
    for payload, layout, span, part in zip(found, layouts, spans, (key, value), strict=True):
        if payload is None or layout is None or span is None:
            assert part is None
            continue
        assert payload.error is None
        tree = layout.dissect(*span, nest)
        nest(tree, span[0], Scope())
        assert (tree.start, tree.end) == (1, 1 + len(part or b""))
        assert_tiles(tree)
        assert tree.value == payload.value
    if topic == "__cluster_metadata" or topic == "__remote_log_metadata":
        assert found.value is not None
        assert found.value.name == name
    elif topic != "control":
        assert found.key is not None
        assert found.key.name == name


def test_topics_and_configs() -> None:
    assert told("TopicRecord")[1]["value"] == {"name": "orders", "topic_id": TOPIC_ID}
    secret, plain = told("ConfigRecord")[1]["value"], told("ConfigRecord", 1)[1]["value"]
    assert (secret["name"], secret["value"]) == ("listener.name.internal.ssl.key.password", "***")
    assert (plain["name"], plain["value"]) == ("retention.ms", "1000")


def test_scram_credentials_are_masked() -> None:
    value = told("UserScramCredentialRecord")[1]["value"]
    assert value == {
        "name": "alice", "mechanism": 1, "iterations": 4096,
        "salt": "***", "stored_key": "***", "server_key": "***",
    }  # fmt: skip


def test_offsets() -> None:
    key, value = told("OffsetCommitKey")
    assert key == {
        "payload": "OffsetCommitKey", "version": 1,
        "value": {"group": "g", "topic": "orders", "partition": 2},
    }  # fmt: skip
    assert (value["version"], value["value"]["offset"], value["value"]["topic_id"]) == (4, 10, TOPIC_ID)
    assert told("OffsetCommitKey", 1)[1]["value"]["expire_timestamp"] == 6
    assert told("OffsetCommitKey", 2)[1] is None  # a tombstone


def test_members_of_a_group_are_decoded_within() -> None:
    (member,) = told("GroupMetadataKey")[1]["value"]["members"]
    assert member["subscription_decoded"]["value"]["topics"] == ["clicks", "orders"]
    assert member["assignment_decoded"]["value"]["assigned_partitions"][0] == {
        "topic": "orders",
        "partitions": [1],
    }
    classic = told("ConsumerGroupMemberMetadataKey")[1]["value"]["classic_member_metadata"]
    (protocol,) = classic["supported_protocols"]
    assert protocol["metadata_decoded"]["value"]["topics"] == ["clicks", "orders"]


def test_control_records() -> None:
    assert told("ABORT")[0]["value"] == {"type": 0}
    assert told("COMMIT")[1]["value"] == {"coordinator_epoch": 7}
    leader = told("LeaderChangeMessage")[1]
    assert (leader["version"], leader["value"]["leader_id"]) == (1, 1)
    assert leader["value"]["voters"] == [{"voter_id": 1, "voter_directory_id": TOPIC_ID}]
    assert told("SnapshotHeaderRecord")[1]["value"]["last_contained_log_timestamp"] == 12
    assert told("KRaftVersionRecord")[1]["value"]["kraft_version"] == 1


def test_records_of_users_have_no_format() -> None:
    assert decode_record("orders", b"\0\1", b"\0\0") == NOTHING
    assert decode_record(None, b"\0\1", b"\0\0") == NOTHING


@pytest.mark.parametrize(
    ("topic", "key", "value", "why"),
    [
        ("__consumer_offsets", b"\0\x09", None, "no record type 9"),
        ("__consumer_offsets", b"\0", None, "no record type"),
        ("__cluster_metadata", None, b"\2\0\0", "no frame version 2"),
        ("__cluster_metadata", None, b"\1", "frame does not fit"),
        ("__cluster_metadata", None, b"\1\x63\0", "no record type 99"),
        ("__cluster_metadata", None, b"\1\2\7", "version 7 is not in the schema"),
        ("__cluster_metadata", None, b"\1\x14\0\0left", "4 bytes left over"),
        ("__transaction_state", b"\0\0\0\2tx", b"\0", "too short for a version"),
        ("__transaction_state", b"\0\0\0\2tx", b"\0\0\0", "runs past the end"),
    ],
)
def test_what_does_not_fit_says_why(topic: str, key: bytes | None, value: bytes | None, why: str) -> None:
    found = decode_record(topic, key, value)
    errors = [str(payload.error) for payload in found if payload is not None and payload.error is not None]
    assert any(why in error for error in errors), errors


def test_every_cut_raises_nothing() -> None:
    for topic, _, key, value in records():
        for end in range(len(key or b"")):
            decode_record(topic, (key or b"")[:end], value, topic == "control")
        for end in range(len(value or b"")):
            decode_record(topic, key, (value or b"")[:end], topic == "control")


def test_the_table_of_logs_is_the_schema() -> None:
    for logged in all_logs():
        for number, name in logged.records.items():
            if logged.framing is Framing.KEYED:
                assert protocol_messages.payload(f"{name}Key").record_type == number
                assert protocol_messages.payload(f"{name}Value").record_type == number
            elif logged.framing is Framing.FRAMED:
                assert protocol_messages.payload(name).record_type == number
            else:
                assert protocol_messages.payload(name).record_type is None
    told_by_logs = {name for logged in all_logs() for name in logged.records.values()}
    typed = {message.name for message in protocol_messages.all_payloads() if message.record_type is not None}
    bare = {name.removesuffix("Key").removesuffix("Value") for name in typed}
    assert bare - told_by_logs == {"QuotaRecord"}  # Kafka 2.8's, whose number ClientQuotaRecord has now
    assert log("orders") is None


@pytest.mark.parametrize("rows", [["0 TopicRecord"], ["log a keyed", "x TopicRecord"], ["log a nothing"]])
def test_a_wrong_table_is_told(rows: list[str]) -> None:
    with pytest.raises(SchemaError, match=r"^logs:\d"):
        parse_logs((f"logs:{number}", row.split()) for number, row in enumerate(rows, 1))
