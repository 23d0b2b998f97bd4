"""Whole frames, with and without size, right and wrong; every special case that the schema cannot say."""

import pytest

from kdissect.decoders import quirks
from kdissect.decoders.as_json.json_bodies import request_to_jsonable, response_to_jsonable
from kdissect.decoders.bodies import (
    body_fits,
    decode_request_body,
    decode_response_body,
    summarize_request,
    summarize_response,
)
from kdissect.decoders.encoder import encode, encode_request, encode_response
from kdissect.decoders.frames import dissect_body, dissect_request, dissect_response
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages

# spec/004 "Wire Format Examples": both sizes are wrong there, and null topics exist only from version 1 on.
SPEC_REQUEST = bytes.fromhex("00000011 0003 0000 00000001 0004 74657374 ffffffff")
SPEC_RESPONSE = bytes.fromhex("00000006 00000001 00000000 00000000")
FRAME = encode_request(3, 1, 5, "test", {"topics": None})


@pytest.mark.parametrize("prefixed", [None, True, False])
def test_a_request_with_and_without_its_size(prefixed: bool | None) -> None:
    frame = FRAME[4:] if prefixed is False else FRAME
    header, body = decode_request(frame, size_prefixed=prefixed)
    assert header[:4] == (3, 1, 5, "test")
    assert body.topics is None
    assert decode_request(memoryview(FRAME)[4:]).body == body


def test_the_samples_of_the_specification() -> None:
    with pytest.raises(DecodeError, match="size says 17 bytes, 18 follow"):
        decode_request(SPEC_REQUEST)
    with pytest.raises(DecodeError, match=r"MetadataRequest\.topics: null is not allowed at byte 18"):
        decode_request(SPEC_REQUEST, strict=False)
    with pytest.raises(DecodeError, match="size says 6 bytes, 12 follow"):
        decode_response(SPEC_RESPONSE, 3, 0)
    response = decode_response(SPEC_RESPONSE, 3, 0, strict=False)
    assert response.correlation_id == 1
    assert (response.body.brokers, response.body.topics) == ([], [])


def test_trees_of_the_samples_show_both_errors() -> None:
    request = dissect_request(SPEC_REQUEST)
    assert [str(node.error) for node in request.children if node.error] == [
        "size: size says 17 bytes, 18 follow at byte 0",
        "MetadataRequest.topics: null is not allowed at byte 18",
    ]
    assert request.find("RequestHeader.client_id").value == "test"
    response = dissect_response(SPEC_RESPONSE, 3, 0)
    assert [node.name for node in response.children] == ["size", "ResponseHeader", "MetadataResponse"]
    assert str(response.error) == "size: size says 6 bytes, 12 follow at byte 0"


def test_bytes_left_over_are_an_error_only_when_strict() -> None:
    frame = FRAME[4:] + b"xy"
    with pytest.raises(DecodeError, match="MetadataRequest: 2 bytes left over"):
        decode_request(frame)
    assert decode_request(frame, strict=False).body.topics is None
    tree = dissect_request(frame)
    assert (tree.end, tree.children[-1].name, tree.children[-1].value) == (len(frame), "rest", b"xy")


@pytest.mark.parametrize(
    "data", [b"", b"\0", bytes(7), b"\x27\x10" + bytes(20), b"\x00\x03\x03\xe7" + bytes(20)]
)
def test_nonsense_raises_only_decode_errors(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_request(data)
    with pytest.raises(DecodeError):
        decode_response(data, 10000, 0)
    assert dissect_request(data).error
    assert dissect_response(data, 10000, 0).error
    assert dissect_body(data, 3, 999, is_response=True).error
    assert not summarize_request(data, 0, 10000, 0).complete
    assert not body_fits(data, 0, 10000, 0)


def test_unknown_apis_and_versions_are_named() -> None:
    with pytest.raises(DecodeError, match="API key 10000 is not in the schema"):
        decode_request_body(b"", 0, 10000, 0)
    with pytest.raises(DecodeError, match="version 999 of Metadata is not in the schema"):
        decode_response_body(b"", 0, 3, 999)


def test_a_refused_api_versions_request_is_answered_in_version_0() -> None:
    entry = {"api_key": 18, "min_version": 0, "max_version": 3}
    message = protocol_messages.response_message(18)
    assert message
    fallback = encode(message, 0, {"error_code": quirks.UNSUPPORTED_VERSION, "api_keys": [entry]})
    for asked in (1, 3, 4, 99):
        body = decode_response_body(fallback, 0, 18, asked)
        assert body.api_keys[0].max_version == 3
        assert summarize_response(fallback, 0, 18, asked).errors == (35,)
        assert response_to_jsonable(fallback, 0, 18, asked)[1] == len(fallback)
        assert decode_response(bytes(4) + fallback, 18, asked).version == 0
        assert body_fits(fallback, 0, 18, asked)
        assert dissect_response(bytes(4) + fallback, 18, asked).error is None
    # Version 3 with the same error stays version 3: its length does not fit version 0.
    answered = encode(message, 3, {"error_code": quirks.UNSUPPORTED_VERSION, "api_keys": [entry]})
    assert decode_response(bytes(4) + answered, 18, 3).version == 3


def test_the_response_header_of_api_versions_has_no_tags() -> None:
    frame = encode_response(18, 3, 9, {"error_code": 0, "api_keys": []})
    assert frame[4:10] == b"\0\0\0\x09\0\0"
    assert decode_response(frame, 18, 3).body.api_keys == []


def test_the_empty_array_that_old_librdkafka_sent() -> None:
    for version in range(3):  # those without a body
        content = (encode_request(18, version, 1, "rdkafka", {}) + bytes(4))[4:]
        assert decode_request(content).header.client_id == "rdkafka"
        assert dissect_request(content).error is None
        assert request_to_jsonable(content, len(content) - 4, 18, version)[:2] == ({}, len(content))
    with pytest.raises(DecodeError, match="left over"):
        decode_request(encode_request(18, 3, 1, "rdkafka", {})[4:] + bytes(4))


def test_controlled_shutdown_0_has_no_client_id() -> None:
    frame = encode_request(7, 0, 3, "dropped", {"broker_id": 11})
    assert frame == bytes.fromhex("0000000c 0007 0000 00000003 0000000b")
    assert decode_request(frame).body.broker_id == 11
    assert encode_request(7, 1, 3, "x", {"broker_id": 11})[12:15] == b"\0\1x"


def test_which_requests_are_answered() -> None:
    for version in (0, 9, 13):
        for acks, answered in ((0, False), (1, True), (-1, True)):
            frame = encode_request(0, version, 1, None, {"acks": acks})
            header = decode_request(frame).header
            found = summarize_request(frame, header.body_offset, 0, version).acks
            assert found == acks
            assert quirks.expects_response(0, found) is answered
    assert quirks.expects_response(3, None)


def test_which_handshake_is_followed_by_raw_tokens() -> None:
    assert quirks.raw_tokens_follow(17, 0)
    assert not quirks.raw_tokens_follow(17, 1)
    assert not quirks.raw_tokens_follow(36, 0)


def test_a_body_alone() -> None:
    tree = dissect_body(FRAME, 3, 1, is_response=False, offset=18)
    assert tree.error is None
    assert tree.value.topics is None
    assert (tree.start, tree.end) == (18, len(FRAME))


def test_encoding_refuses_what_has_no_bytes() -> None:
    message = protocol_messages.request_message(3)
    assert message
    with pytest.raises(ValueError, match=r"MetadataRequest\.topics: null is not allowed"):
        encode(message, 0, {"topics": None})
    with pytest.raises(ValueError, match=r"MetadataRequest\.topics\[0\].name"):
        encode(message, 1, {"topics": [{"name": None}]})
    with pytest.raises(KeyError):
        encode_request(10000, 0, 1, None, {})
