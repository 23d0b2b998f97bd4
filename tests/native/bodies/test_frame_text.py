"""Frames that are compiled to lines of a tree are those that Python renders, or there are none."""

import struct
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kdissect
from kdissect.decoders.encoder import encode
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.decoders.payloads.scope import NEAR_SECRETS, Facts
from kdissect.decoders.trees.frame_text import tree_text
from kdissect.decoders.trees.tree_text import render
from kdissect.model.native import native
from kdissect.schema.protocol_messages import all_apis, request_message, response_message
from tests.conformance.random_values import ValueMaker

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

CAPTURES = Path(__file__).parents[3] / "captures"
MARGIN = "    "
BODIES = [
    (api.key, version, is_response)
    for api in all_apis()
    for is_response in (False, True)
    for version in (api.response if is_response else api.request).versions
    if tree_text(api.key, version, is_response, MARGIN)
]
SEEDS = 4
METADATA, API_VERSIONS, END_TXN = 3, 18, 26
NOWHERE: Facts = {}
NAMES = {bytes(range(16)): 'a "quoted" name\x1b', bytes(16): "nobody's", b"\xff" * 16: "имя"}
Body = tuple[int, int, bool]


def name(topic_id: bytes) -> str | None:
    return NAMES.get(topic_id)


def text(body: Body, data: bytes) -> str | None:
    writer = tree_text(*body, MARGIN)
    found = None if writer is None else writer.text(data, name)
    return None if found is None else found.decode()


def by_python(body: Body, data: bytes, facts: Facts = NOWHERE) -> str:
    key, version, is_response = body
    if is_response:
        tree = dissect_response(data, key, version, False, facts)
    else:
        tree = dissect_request(data, False, facts)
    return "".join(f"{MARGIN}{line}\n" for line in render(tree, data, topic_name=name))


def assert_same(body: Body, data: bytes) -> bool:
    """Compare what the native engine writes, if it does, also with what is shown near secrets."""
    found = text(body, data)
    if found is not None:
        assert [found, found] == [by_python(body, data), by_python(body, data, {NEAR_SECRETS: True})]
    return found is not None


def frame(body: Body, seed: int) -> bytes:
    key, version, is_response = body
    message = response_message(key) if is_response else request_message(key)
    assert message is not None
    made = encode(message, version, ValueMaker(message, version, seed, most=2).body())
    if is_response:
        return struct.pack(">i", seed) + b"\0" * response_header_version(key, version) + made
    header = struct.pack(">hhih5s", key, version, seed, 5, b"me\t\"'")
    return header + b"\0" * (request_header_version(key, version) - 1) + made


@pytest.mark.parametrize("body", BODIES, ids=str)
def test_frames_of_every_version(body: Body) -> None:
    for seed in range(SEEDS):
        assert_same(body, frame(body, seed))


def test_nearly_all_frames_of_real_captures_are_compiled() -> None:
    written = 0
    for capture in ("tansu_rdk216_kip848.pcap", "kafka39_java_admin.pcapng", "kafka28_java_logs.pcapng"):
        for exchange in kdissect.open(CAPTURES / capture):
            if exchange.api_key is None or exchange.api_version is None:
                continue
            for is_response, one in ((False, exchange.request), (True, exchange.response)):
                body = exchange.api_key, exchange.api_version, is_response
                written += one is not None and assert_same(body, one.data)
    assert written > 300


@pytest.mark.parametrize("offset", [-(1 << 63), -(1 << 56), -1, (1 << 56) - 1, 1 << 56, (1 << 63) - 1])
def test_numbers_beyond_reason_are_written_by_python(offset: int) -> None:
    """Near secrets they are masked, with all that may be a piece of one."""
    body = END_TXN, 3, False
    message = request_message(END_TXN)
    assert message is not None
    head = struct.pack(">hhih", *body[:2], 1, -1) + b"\0"
    values = {"transactional_id": "t", "producer_id": offset, "producer_epoch": 1, "committed": True}
    is_written = assert_same(body, head + encode(message, 3, values))
    assert is_written == (offset not in (-(1 << 56), 1 << 56))


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=1000)
@given(st.sampled_from(BODIES), st.integers(0, 3), st.randoms(use_true_random=False))
def test_damaged_frames(body: Body, seed: int, random: Random) -> None:
    data = bytearray(frame(body, seed))
    head = 8 if not body[2] else 4  # API and version of a request are those that are asked for
    for _ in range(random.randrange(4)):
        data[random.randrange(head, len(data))] = random.randrange(256)
    if random.randrange(3) == 0:
        data = data[: random.randrange(head, len(data) + 1)]
    assert_same(body, bytes(data))


@pytest.mark.parametrize("topic_id", NAMES)
def test_topics_are_named_by_their_ids(topic_id: bytes) -> None:
    body = METADATA, 12, False
    flags = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": True}
    topics = {"topics": [{"topic_id": topic_id, "name": None}], **flags}
    message = request_message(METADATA)
    assert message is not None
    data = frame(body, 0)[:15] + b"\0" + encode(message, 12, topics)
    found = text(body, data)
    assert (found is None) == (topic_id == b"\xff" * 16)  # text that is not ASCII is Python's
    assert found in (None, by_python(body, data))
    assert ("quoted" in (found or "")) == (topic_id == bytes(range(16)))


def test_an_empty_body_has_no_value() -> None:
    data = struct.pack(">hhih", API_VERSIONS, 0, 1, -1)
    found = text((API_VERSIONS, 0, False), data)
    assert found == by_python((API_VERSIONS, 0, False), data)
    assert found is not None
    assert found.endswith("ApiVersionsRequest: ApiVersionsRequest\n")
