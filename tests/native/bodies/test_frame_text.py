"""Frames that are compiled to lines of a tree are those that Python renders, or there are none."""

import struct
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kdissect
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.encoder import encode
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.generated.values import Value
from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.decoders.payloads.payload_text import PayloadText
from kdissect.decoders.payloads.scope import NEAR_SECRETS, Facts
from kdissect.decoders.trees.frame_text import tree_text
from kdissect.decoders.trees.tree_text import render
from kdissect.engine.payload_facts import payload_facts
from kdissect.model.errors import DecodeError
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
METADATA, API_VERSIONS, END_TXN, DESCRIBE_CONFIGS = 3, 18, 26, 32
JOIN_GROUP, SYNC_GROUP, ENVELOPE, PUSH_TELEMETRY = 11, 14, 58, 72
PAYLOADS = ("kafka44_java_telemetry.pcapng", "kafka44_java_transactions.pcapng")
OF_PAYLOADS = {JOIN_GROUP, SYNC_GROUP, ENVELOPE, PUSH_TELEMETRY, DESCRIBE_CONFIGS}
NOWHERE: Facts = {}
NAMES = {bytes(range(16)): 'a "quoted" name\x1b', bytes(16): "nobody's", b"\xff" * 16: "имя"}
Body = tuple[int, int, bool]


def name(topic_id: bytes) -> str | None:
    return NAMES.get(topic_id)


def text(body: Body, data: bytes, facts: Facts = NOWHERE, show_secrets: bool = False) -> str | None:
    key, version, is_response = body
    writer, message = tree_text(*body, MARGIN, show_secrets), known_body(*body)
    assert message is not None

    def decoded() -> Value | None:
        try:
            if is_response:
                return decode_response(data, key, version, size_prefixed=False).body
            return decode_request(data, size_prefixed=False)[1]
        except DecodeError:
            return None

    payloads = PayloadText(message, version, data, facts, decoded, name, MARGIN, show_secrets)
    found = None if writer is None else writer.text(data, (0, len(data), 0), name, payloads.text)
    return None if found is None else found.decode()


def by_python(body: Body, data: bytes, facts: Facts = NOWHERE, show_secrets: bool = False) -> str:
    key, version, is_response = body
    if is_response:
        tree = dissect_response(data, key, version, False, facts)
    else:
        tree = dissect_request(data, False, facts)
    lines = render(tree, data, show_secrets=show_secrets, topic_name=name)
    return "".join(f"{MARGIN}{line}\n" for line in lines)


def assert_same(body: Body, data: bytes, facts: Facts = NOWHERE) -> bool:
    """Compare what the native engine writes, if it does, also near secrets, and with secrets."""
    found = text(body, data, facts)
    if found is not None:
        near = by_python(body, data, {**facts, NEAR_SECRETS: True})
        assert [found, found] == [by_python(body, data, facts), near]
        assert text(body, data, facts, show_secrets=True) == by_python(body, data, facts, show_secrets=True)
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
                facts = payload_facts(exchange, "response" if is_response else "request")
                written += one is not None and assert_same(body, one.data, facts)
    assert written > 300


def test_payloads_and_configs_of_real_captures_are_written() -> None:
    """Groups, metrics and forwarded requests are payloads, values of configs may be secret."""
    found: Counter[tuple[int, bool]] = Counter()
    for capture in PAYLOADS:
        for exchange in kdissect.open(CAPTURES / capture):
            if exchange.api_key not in OF_PAYLOADS or exchange.api_version is None:
                continue
            for is_response, one in ((False, exchange.request), (True, exchange.response)):
                body = exchange.api_key, exchange.api_version, is_response
                facts = payload_facts(exchange, "response" if is_response else "request")
                if one is not None and assert_same(body, one.data, facts):
                    found[exchange.api_key, is_response] += 1
    assert {key for key, _ in found} == OF_PAYLOADS


@pytest.mark.parametrize("name", ["ssl.key.password", "retention.ms", "", None])
@pytest.mark.parametrize("value", ["hunter2", "INFO", "", None])
@pytest.mark.parametrize("sensitive", [False, True])
def test_values_of_configs_are_masked(name: str | None, value: str | None, sensitive: bool) -> None:
    """A synonym's value is secret too if the config around it is."""
    body = DESCRIBE_CONFIGS, 4, True
    message = response_message(DESCRIBE_CONFIGS)
    assert message is not None
    synonyms = [
        {"name": "retention.ms", "value": value, "source": 5},
        {"name": "x", "value": "y", "source": 1},
    ]
    config = {
        "name": name or "", "value": value, "read_only": False, "config_source": 5,
        "is_sensitive": sensitive, "synonyms": synonyms, "config_type": 9 if name is None else 1,
        "documentation": None,
    }  # fmt: skip
    result = {
        "error_code": 0, "error_message": None, "resource_type": 2, "resource_name": "t",
        "configs": [config, {**config, "is_sensitive": False}],
    }  # fmt: skip
    data = struct.pack(">i", 1) + b"\0" + encode(message, 4, {"throttle_time_ms": 0, "results": [result]})
    assert assert_same(body, data)
    assert ("hunter2" in (text(body, data) or "")) == (value == "hunter2" and name == "retention.ms")


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
