"""Payloads where they stand: beside their bytes in JSON, within them in the tree."""

import struct
from typing import Any

import pytest
from crc32c import crc32c

from kdissect.decoders.as_json.json_bodies import request_to_jsonable, response_to_jsonable
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.headers import parse_request_header, response_body_offset
from kdissect.decoders.payloads.internal_record_trees import nest_record_payloads
from kdissect.decoders.payloads.nesting import FINDERS
from kdissect.decoders.records.spans import nest_records
from kdissect.decoders.trees.masking import secret_nodes
from kdissect.decoders.trees.node import Decompressed, Node
from kdissect.decoders.trees.tree_text import render
from kdissect.schema import protocol_messages
from kdissect.schema.all_fields import all_fields, has_payloads
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.schema.secrets import may_hold_secrets
from kdissect.schema.types import Array, Primitive
from tests.decoders.payloads.vectors import assert_tiles, groups, records
from tests.support.messages.batches import kafka_python_batch, kafka_python_messages

JOIN_GROUP, SYNC_GROUP, DESCRIBE_GROUPS, ALTER_CONFIGS, ENVELOPE, TELEMETRY = 11, 14, 15, 44, 58, 72


def request_json(key: int, version: int, body: dict[str, Any], **facts: Any) -> Any:
    frame = encode_request(key, version, 7, "me", body)
    found = request_to_jsonable(frame, parse_request_header(frame, 4).body_offset, key, version, False, facts)
    assert found.end == len(frame)
    return found


def response_json(key: int, version: int, body: dict[str, Any], **facts: Any) -> Any:
    frame = encode_response(key, version, 7, body)
    offset = response_body_offset(frame, key, version, 4)
    return response_to_jsonable(frame, offset, key, version, False, facts)


def test_every_place_of_the_schema_has_a_format() -> None:
    messages = [message for api in protocol_messages.all_apis() for message in (api.request, api.response)]
    places = set()
    for message in [*messages, *protocol_messages.all_payloads()]:
        for field in all_fields(message):
            if field.payload:
                places.add(field.payload)
                assert field.type is Primitive.BYTES, field
    assert places == set(FINDERS)
    assert not any(
        isinstance(field.type, Array) and field.payload for m in messages for field in all_fields(m)
    )


@pytest.mark.parametrize("version", range(10))
def test_join_group_in_every_version(version: int) -> None:
    subscription = groups()["ConsumerProtocolSubscription v3"]
    protocols = [{"name": "range", "metadata": subscription}, {"name": "mine", "metadata": b""}]
    asked = request_json(JOIN_GROUP, version, {"protocol_type": "consumer", "protocols": protocols})
    first, second = asked.body["protocols"]
    assert first["metadata_decoded"]["value"]["rack_id"] == "rack-a"
    assert "metadata_decoded" not in second
    members = [{"member_id": "m", "metadata": subscription}]
    answered = response_json(JOIN_GROUP, version, {"protocol_name": "range", "members": members})
    assert answered.body["members"][0]["metadata_decoded"]["payload"] == "ConsumerProtocolSubscription"
    assert asked.problems == answered.problems == ()


@pytest.mark.parametrize("version", range(6))
def test_sync_group_in_every_version(version: int) -> None:
    connect, consumer = (groups()[f"{kind}ProtocolAssignment v1"] for kind in ("Connect", "Consumer"))
    said = {"protocol_type": "connect", "protocol_name": "compatible"}
    body = {"assignments": [{"member_id": "m", "assignment": connect}]} | (said if version == 5 else {})
    (assigned,) = request_json(SYNC_GROUP, version, body).body["assignments"]
    assert assigned["assignment_decoded"]["payload"] == "ConnectProtocolAssignment"
    answered = response_json(SYNC_GROUP, version, {"assignment": consumer}).body
    assert answered["assignment_decoded"]["payload"] == "ConsumerProtocolAssignment"


def test_described_groups_say_their_protocol() -> None:
    subscription, assignment = (
        groups()[f"ConsumerProtocol{kind} v0"] for kind in ("Subscription", "Assignment")
    )
    member = {"member_metadata": subscription, "member_assignment": assignment}
    body = {"groups": [{"protocol_type": "consumer", "protocol_data": "range", "members": [member]}]}
    (group,) = response_json(DESCRIBE_GROUPS, 5, body).body["groups"]
    (told,) = group["members"]
    assert told["member_metadata_decoded"]["value"]["topics"] == ["clicks", "orders"]
    assert told["member_assignment_decoded"]["value"]["user_data"] is None


def test_a_payload_that_does_not_fit_is_a_problem_and_stays_bytes() -> None:
    protocols = [{"name": "range", "metadata": b"\0\0\0\0\0\x05"}]
    found = request_json(JOIN_GROUP, 5, {"protocol_type": "consumer", "protocols": protocols})
    (problem,) = found.problems
    assert problem.startswith("JoinGroupRequest: metadata: ConsumerProtocolSubscription.topics: ")
    (told,) = found.body["protocols"]
    assert told["metadata"] == {"base64": "AAAAAAAF"}
    assert told["metadata_decoded"]["value"] is None
    assert "do not fit" in told["metadata_decoded"]["why"]


def config_change(name: str = "ssl.key.password", value: str = "hunter2") -> bytes:
    resource = {"resource_type": 4, "resource_name": "1", "configs": [{"name": name, "value": value}]}
    return encode_request(ALTER_CONFIGS, 1, 9, "inner", {"resources": [resource]})[4:]


def envelope() -> dict[str, Any]:
    principal = b"\0\0" + b"\x05User\x06alice\0\0"
    return {
        "request_data": config_change(),
        "request_principal": principal,
        "client_host_address": b"\x7f\0\0\x01",
    }


def test_an_envelope_shows_the_request_inside_without_its_secrets() -> None:
    found = request_json(ENVELOPE, 0, envelope())
    inner = found.body["request_data_decoded"]["value"]
    assert found.body["request_data"] == "***"
    assert inner["header"]["api"] == "IncrementalAlterConfigs"
    assert inner["header"]["client_id"] == "inner"
    (config,) = inner["body"]["resources"][0]["configs"]
    assert (config["name"], config["value"]) == ("ssl.key.password", "***")
    assert found.body["request_principal_decoded"]["value"] == {
        "type": "User", "name": "alice", "token_authenticated": False,
    }  # fmt: skip
    assert found.body["client_host_address_decoded"]["value"] == "127.0.0.1"


def test_an_envelopes_response_is_that_of_the_request_inside() -> None:
    answer = {"responses": [{"error_code": 0, "resource_type": 4, "resource_name": "1"}]}
    data = encode_response(ALTER_CONFIGS, 1, 9, answer)[4:]
    told = response_json(ENVELOPE, 0, {"response_data": data}, inner_api=(ALTER_CONFIGS, 1)).body
    inner = told["response_data_decoded"]["value"]
    assert inner["header"] == {"correlation_id": 9}
    assert inner["body"]["responses"][0]["resource_name"] == "1"
    unknown = response_json(ENVELOPE, 0, {"response_data": data}).body
    assert "response_data_decoded" not in unknown


def test_envelopes_in_envelopes_end() -> None:
    data = config_change()
    for _ in range(30):
        data = encode_request(ENVELOPE, 0, 1, None, envelope() | {"request_data": data})[4:]
    tree = dissect_request(data, size_prefixed=False)
    assert_tiles(tree)
    depth = sum(node.name == "request_data" for node in tree.walk())
    assert 1 < depth < 10


def payload_nodes(tree: Node) -> list[Node]:
    return [node for node in tree.walk() if node.type == "payload"]


def test_trees_nest_payloads_with_their_spans() -> None:
    subscription = groups()["ConsumerProtocolSubscription v3"]
    assignor = groups()["StickyAssignorUserData v1"]
    whole = subscription.replace(b"\0\0\0\x02\1\2", len(assignor).to_bytes(4) + assignor)
    frame = encode_request(
        JOIN_GROUP,
        9,
        7,
        "me",
        {"protocol_type": "consumer", "protocols": [{"name": "sticky", "metadata": whole}]},
    )
    tree = dissect_request(frame)
    assert_tiles(tree)
    assert [node.name for node in payload_nodes(tree)] == [
        "ConsumerProtocolSubscription", "StickyAssignorUserData",
    ]  # fmt: skip
    for node, data in zip(payload_nodes(tree), (whole, assignor), strict=True):
        assert frame[node.start : node.end] == data
    assert tree.error is None


def test_a_broken_payload_is_no_error_of_the_frame() -> None:
    protocols = [{"name": "range", "metadata": b"\0\0\0\0\0\x05more"}]
    tree = dissect_request(
        encode_request(JOIN_GROUP, 5, 7, "me", {"protocol_type": "consumer", "protocols": protocols})
    )
    assert_tiles(tree)
    assert tree.error is None
    (payload,) = payload_nodes(tree)
    assert payload.error is not None
    assert payload.error.offset == payload.start + 2  # behind the version
    assert any("! 5 elements do not fit" in line for line in render(tree, b""))


def test_trees_mask_what_json_masks() -> None:
    frame = encode_request(ENVELOPE, 0, 7, "me", envelope())
    tree = dissect_request(frame)
    assert_tiles(tree)
    shown = "\n".join(render(tree, frame, show_lengths=True))
    assert "hunter2" not in shown
    assert b"hunter2".hex(" ") not in shown
    assert "ssl.key.password" in shown
    assert "hunter2" in "\n".join(render(tree, frame, show_secrets=True))
    assert secret_nodes(tree)


def test_a_response_tree_knows_the_inner_api() -> None:
    data = encode_response(ALTER_CONFIGS, 1, 9, {"responses": []})[4:]
    frame = encode_response(ENVELOPE, 0, 7, {"response_data": data})
    tree = dissect_response(frame, ENVELOPE, 0, facts={"inner_api": (ALTER_CONFIGS, 1)})
    assert_tiles(tree)
    assert any(node.name == "IncrementalAlterConfigsResponse" for node in tree.walk())


def test_messages_without_payloads_take_the_fast_way() -> None:
    assert {api.key for api in protocol_messages.all_apis() if has_payloads(api.request)} == {
        JOIN_GROUP, SYNC_GROUP, 36, ENVELOPE, TELEMETRY,
    }  # fmt: skip
    assert not any(has_payloads(api.request) for api in protocol_messages.all_apis() if api.key in (0, 1, 3))
    secret = {
        api.key
        for api in protocol_messages.all_apis()
        if may_hold_secrets(api.request) or may_hold_secrets(api.response)
    }
    assert secret == {19, 32, 33, 36, 38, 39, 40, 41, 44, 51, 58}


def metadata_batch() -> bytes:
    """Return records of the metadata log as Apache Kafka writes them, in a batch built here by hand."""
    content = b""
    for _, _, key, value in (row for row in records() if row[0] == "__cluster_metadata"):
        assert key is None
        assert value is not None
        record = b"\0\0\0\x01" + bytes([len(value) * 2 & 0x7F | 0x80, len(value) * 2 >> 7]) + value + b"\0"
        content += bytes([len(record) * 2 & 0x7F | 0x80, len(record) * 2 >> 7]) + record
    batch = struct.pack(">hiqqqhii", 0, 8, 0, 0, -1, -1, -1, 9) + content
    batch = struct.pack(">ibI", 0, 2, crc32c(batch)) + batch
    return struct.pack(">qi", 0, len(batch)) + batch


@pytest.mark.parametrize("version", [12, 13])
def test_records_of_kafkas_own_logs_nest_in_the_tree(version: int) -> None:
    topic = {"topic_id": METADATA_TOPIC_ID} if version == 13 else {"topic": METADATA_TOPIC}
    part = {"partition_index": 0, "aborted_transactions": None, "records": metadata_batch()}
    frame = encode_response(1, version, 7, {"responses": [topic | {"partitions": [part]}]})
    tree = dissect_response(frame, 1, version)
    nest_records(tree, frame, may_be_cut=True, may_hold_secrets=True)
    nest_record_payloads(
        tree, frame, lambda topic_id: METADATA_TOPIC if topic_id == METADATA_TOPIC_ID else None
    )
    names = [node.name for node in payload_nodes(tree)]
    assert names == [row[1] for row in records() if row[0] == "__cluster_metadata"]
    for node, row in zip(payload_nodes(tree), records(), strict=False):
        assert frame[node.start : node.end] == row[3]
        assert_tiles(node)
    shown = "\n".join(render(tree, frame))
    assert 'name: compact string = "alice"' in shown
    assert "salt: compact bytes = ***" in shown
    assert "SALTSECRET" not in shown
    assert b"SALTSECRET".hex(" ") not in shown
    assert b"SALTSECRET".hex(" ") in "\n".join(render(tree, frame, show_secrets=True))


def metadata_tree(records_field: bytes, topic: str = METADATA_TOPIC) -> tuple[Node, bytes]:
    part = {"partition_index": 0, "aborted_transactions": None, "records": records_field}
    frame = encode_response(1, 12, 7, {"responses": [{"topic": topic, "partitions": [part]}]})
    tree = dissect_response(frame, 1, 12)
    nest_records(tree, frame, may_be_cut=True, may_hold_secrets=True)
    nest_record_payloads(tree, frame, lambda topic_id: None)
    return tree, frame


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_records_of_compressed_batches_nest_too(codec: int) -> None:
    own = [row for row in records() if row[0] == "__cluster_metadata"]
    samples = [(1, None, value, []) for _, _, _, value in own]
    tree, frame = metadata_tree(kafka_python_batch(samples, codec))
    (inside,) = (node for node in tree.walk() if isinstance(node, Decompressed))
    assert [node.name for node in payload_nodes(tree)] == [name for _, name, _, _ in own]
    for node, (_, _, _, value) in zip(payload_nodes(tree), own, strict=True):
        assert inside.content[node.start : node.end] == value
        assert_tiles(node)
    shown = "\n".join(render(tree, frame))
    assert 'name: compact string = "alice"' in shown
    assert "SALTSECRET" not in shown
    assert b"SALTSECRET".hex(" ") not in shown


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (1, 0), (0, 1), (1, 1), (1, 3)])
def test_messages_of_old_formats_nest_too(magic: int, codec: int) -> None:
    """__consumer_offsets as brokers of 0.9 and 0.10 wrote it."""
    own = [row for row in records() if row[0] == "__consumer_offsets" and row[1].startswith("OffsetCommit")]
    samples = [(1, key or b"", value, []) for _, _, key, value in own if value is not None]
    tree, _ = metadata_tree(kafka_python_messages(samples, magic, codec), "__consumer_offsets")
    names = [node.name for node in payload_nodes(tree)]
    assert names == ["OffsetCommitKey", "OffsetCommitValue"] * len(samples)
    for node in tree.walk():
        assert node.error is None
