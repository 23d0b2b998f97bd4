"""Objects: absent is not null, equality, pickling, unknown tags, secrets."""

import copy
import math
import pickle
import struct

import pytest

from kdissect.decoders.as_json.json_bodies import json_decoder
from kdissect.decoders.as_json.jsonable import to_jsonable
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.values import items
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message


def message(api_key: int, response: bool = False) -> Message:
    found = (
        protocol_messages.response_message(api_key)
        if response
        else protocol_messages.request_message(api_key)
    )
    assert found
    return found


PRODUCE, METADATA, FETCH_RESPONSE = message(0), message(3), message(1, response=True)
BODY = {
    "transactional_id": None,
    "acks": -1,
    "timeout_ms": 30000,
    "topic_data": [{"name": "t", "partition_data": [{"index": 2, "records": b"\x01\x02\x03"}]}],
}


def test_a_field_of_another_version_is_absent_not_null() -> None:
    old, _ = decoder(PRODUCE, 2)(encode(PRODUCE, 2, BODY), 0)
    new, _ = decoder(PRODUCE, 3)(encode(PRODUCE, 3, BODY), 0)
    assert new.transactional_id is None
    assert not hasattr(old, "transactional_id")
    assert type(old) is type(new)
    assert "transactional_id" not in dict(items(old))
    assert "transactional_id" not in to_jsonable(old)
    assert to_jsonable(new)["transactional_id"] is None


def test_reading_what_is_absent_says_why() -> None:
    old, _ = decoder(PRODUCE, 2)(encode(PRODUCE, 2, BODY), 0)
    with pytest.raises(AttributeError, match="not on the wire here"):
        _ = old.transactional_id
    with pytest.raises(AttributeError, match="has no field 'topics'"):
        _ = old.topics


def test_tags_that_were_not_sent_are_absent_and_unknown_ones_kept() -> None:
    body = {"responses": [], "node_endpoints": [], "_tags": {7: b"abc"}}
    value, _ = decoder(FETCH_RESPONSE, 16)(encode(FETCH_RESPONSE, 16, body), 0)
    assert value.node_endpoints == []
    assert value._tags == {7: b"abc"}
    assert to_jsonable(value)["_tags"] == {"7": {"base64": "YWJj"}}
    value, _ = decoder(FETCH_RESPONSE, 16)(encode(FETCH_RESPONSE, 16, {"responses": []}), 0)
    assert not hasattr(value, "node_endpoints")
    assert value._tags == {}


def test_a_thousand_tags_are_not_copied_a_thousand_times() -> None:
    value, _ = decoder(PRODUCE, 9)(encode(PRODUCE, 9, BODY), 0)
    value.keep_tag(1, b"a")
    tags = value._tags
    value.keep_tag(2, b"b")
    assert value._tags is tags
    assert tags == {1: b"a", 2: b"b"}


def test_values_compare_pickle_and_copy() -> None:
    data = encode(PRODUCE, 9, BODY | {"_tags": {9: b"x"}})
    value, _ = decoder(PRODUCE, 9)(data, 0)
    again, _ = decoder(PRODUCE, 9)(data, 0)
    other, _ = decoder(PRODUCE, 9)(encode(PRODUCE, 9, BODY | {"acks": 1}), 0)
    assert value == again
    assert value != other
    assert value != decoder(PRODUCE, 9)(encode(PRODUCE, 9, BODY), 0)[0]  # without the tag
    assert value != 1
    for copied in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert copied == value
        assert copied._tags == {9: b"x"}
        assert copied.topic_data[0].partition_data[0].records == b"\x01\x02\x03"


def test_repr_shows_fields_and_hides_bulk_and_secrets() -> None:
    value, _ = decoder(PRODUCE, 3)(encode(PRODUCE, 3, BODY), 0)
    assert repr(value) == (
        "ProduceRequest(transactional_id=None, acks=-1, timeout_ms=30000, topic_data=[TopicProduceData("
        "name='t', partition_data=[PartitionProduceData(index=2, records=<3 bytes>)])])"
    )
    authenticate = message(36)
    secret, _ = decoder(authenticate, 0)(encode(authenticate, 0, {"auth_bytes": b"\0user\0pass"}), 0)
    assert "pass" not in repr(secret)
    assert secret.auth_bytes == b"\0user\0pass"


def test_secrets_are_masked_in_json_unless_asked_for() -> None:
    authenticate = message(36)
    data = encode(authenticate, 2, {"auth_bytes": b"secret"})
    value, _ = decoder(authenticate, 2)(data, 0)
    assert to_jsonable(value) == {"auth_bytes": "***"}
    shown = {"auth_bytes": {"base64": "c2VjcmV0"}}
    assert to_jsonable(value, True) == shown


@pytest.mark.parametrize("version", [0, 9])
def test_text_that_is_not_utf_8_stays_bytes(version: int) -> None:
    body = {"topics": [{"name": b"\xff\xfe"}, {"name": "good"}]}
    value, _ = decoder(METADATA, version)(encode(METADATA, version, body), 0)
    names = [getattr(topic, "name", topic) for topic in value.topics]
    assert names == [b"\xff\xfe", "good"]
    assert encode(METADATA, version, value) == encode(METADATA, version, body)
    assert to_jsonable(value)["topics"][0]["name"] == {"base64": "//4="}


def test_json_of_uuids_records_and_large_integers() -> None:
    topic_id = bytes.fromhex("fbffbf00112233445566778899aabbcc")
    partition = {"partition_index": 0, "high_watermark": 2**63 - 1, "records": bytes(300)}
    body = {"responses": [{"topic_id": topic_id, "partitions": [partition]}]}
    value, _ = json_decoder(FETCH_RESPONSE, 13)(encode(FETCH_RESPONSE, 13, body), 0)
    topic = value["responses"][0]
    # java.util.Base64.getUrlEncoder().withoutPadding(), as org.apache.kafka.common.Uuid prints
    assert topic["topic_id"] == "-_-_ABEiM0RVZneImaq7zA"
    assert topic["partitions"][0]["records"] == {"bytes": 300}
    assert topic["partitions"][0]["high_watermark"] == 9223372036854775807


def test_json_has_no_nan() -> None:
    quotas = message(49)
    operation = struct.pack(">d", math.nan)
    body = {"entries": [{"entity": [], "ops": [{"key": "k", "value": 0.0}]}]}
    data = encode(quotas, 0, body).replace(bytes(8), operation)
    value, _ = decoder(quotas, 0)(data, 0)
    assert to_jsonable(value)["entries"][0]["ops"][0]["value"] == "NaN"


def test_any_byte_but_zero_is_true() -> None:
    value, _ = decoder(METADATA, 4)(b"\xff\xff\xff\xff\x02", 0)
    assert value.allow_auto_topic_creation is True
