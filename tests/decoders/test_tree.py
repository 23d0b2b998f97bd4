"""Trees as text."""

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.trees.tree_text import quote, render


def test_a_request() -> None:
    topics = [{"name": "a\x1b[31m", "partition_data": [{"index": 0, "records": bytes(5)}]}]
    frame = encode_request(0, 9, 7, "me", {"acks": 1, "timeout_ms": 100, "topic_data": topics})
    assert list(render(dissect_request(frame), frame)) == [
        " 0..46  Request: frame",
        " 0..4     size: int32 = 42",
        " 4..17    RequestHeader: RequestHeader",
        " 4..6       request_api_key: int16 = 0 (Produce)",
        " 6..8       request_api_version: int16 = 9",
        " 8..12      correlation_id: int32 = 7",
        '12..16      client_id: string = "me"',
        "17..46    ProduceRequest: ProduceRequest",
        "17..18      transactional_id: compact string = null",
        "18..20      acks: int16 = 1 (LEADER)",
        "20..24      timeout_ms: int32 = 100",
        "24..45      topic_data: []TopicProduceData = 1 element",
        "25..45        [0]: TopicProduceData",
        '25..32          name: compact string = "a\\x1b[31m"',
        "32..44          partition_data: []PartitionProduceData = 1 element",
        "33..44            [0]: PartitionProduceData",
        "33..37              index: int32 = 0",
        "37..43              records: compact records = 5 bytes",
    ]


def test_lengths_and_tag_sections_on_request() -> None:
    frame = encode_request(3, 9, 7, "me", {"topics": None, "_tags": {9: b"\x01\x02"}})
    lines = [line[8:] for line in render(dissect_request(frame), frame, show_lengths=True)]
    assert "      length: int16 = 2" in lines
    plain = [line[8:] for line in render(dissect_request(frame), frame)]
    assert plain[-3:] == ["    tagged_fields: tags", "      tag 9: tag", "        content: bytes = 01 02"]


def test_error_codes_have_names() -> None:
    frame = encode_response(12, 0, 1, {"error_code": 27})
    assert "error_code: int16 = 27 (REBALANCE_IN_PROGRESS)" in "\n".join(
        render(dissect_response(frame, 12, 0), frame)
    )


def test_errors_stand_below_their_node() -> None:
    frame = bytes.fromhex("0000000e 0003 0000 00000001 ffff 0000ffff")
    assert list(render(dissect_request(frame), frame))[-2:] == [
        "14..18      topics: []MetadataRequestTopic = 65535 elements",
        "              ! 65535 elements do not fit the 0 bytes left at byte 14",
    ]


def test_secrets_are_masked_also_among_the_lengths() -> None:
    frame = encode_request(36, 2, 1, None, {"auth_bytes": b"\0alice\0hunter2"})
    tree = dissect_request(frame)
    for show_lengths in (False, True):
        text = "\n".join(render(tree, frame, show_lengths=show_lengths))
        assert b"hunter2".hex(" ") not in text
        assert "auth_bytes: compact bytes = ***" in text
    assert b"hunter2".hex(" ") in "\n".join(render(tree, frame, show_secrets=True))


def test_quote_leaves_nothing_that_acts_on_a_terminal() -> None:
    assert quote('a"\\\n\x9b\u202e\u2028\U000e0041é中') == (
        '"a\\"\\\\\\x0a\\x9b\\u202e\\u2028\\U000e0041é中"'
    )
