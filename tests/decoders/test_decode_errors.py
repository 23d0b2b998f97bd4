"""Where and why bytes do not fit."""

import gc
import pickle

import pytest

from kdissect.decoders.bodies import decode_once
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.values import items
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message


def response(api_key: int) -> Message:
    found = protocol_messages.response_message(api_key)
    assert found
    return found


METADATA = response(3)
TOPICS = [
    {
        "name": f"topic-{i}",
        "partitions": [{"partition_index": j, "replica_nodes": [1, 2, 3]} for j in range(6)],
    }
    for i in range(50)
]
DATA = encode(METADATA, 9, {"topics": TOPICS})


def test_the_error_names_the_innermost_field_and_its_byte() -> None:
    tree = dissect(METADATA, 9, DATA)
    node = tree.find("topics[49].partitions[5].replica_nodes")
    with pytest.raises(DecodeError) as caught:
        decoder(METADATA, 9)(DATA[: node.start], 0)
    assert str(caught.value) == (
        "MetadataResponse.topics[49].partitions[5].replica_nodes: varint runs past the end "
        f"at byte {node.start}"
    )
    assert pickle.loads(pickle.dumps(caught.value)).path == caught.value.path


@pytest.mark.exhaustive
@pytest.mark.parametrize("data", [b"\x00\x04\x00\x12" * 8, DATA[:200]], ids=["count", "cut"])
def test_an_error_that_is_kept_keeps_no_frame(data: bytes) -> None:
    """A frame holds who called it: with the error of one body a whole connection would stay."""
    frame = Frame(data, len(data), 0, 0, 0, 0)
    decode_once(frame, 4, 3, 9, True)  # what is made at first use, and stays
    gc.collect()
    gc.disable()
    try:
        before = errors()
        found = decode_once(frame, 4, 3, 9, True)
        assert found is not None
        assert found.error is not None
        assert found.error.__traceback__ is None
        del found
        assert errors() == before
    finally:
        gc.enable()


def errors() -> int:
    """Return how many are not gone."""
    return sum(isinstance(one, DecodeError) for one in gc.get_objects())


def test_the_offset_counts_from_the_start_of_the_buffer() -> None:
    with pytest.raises(DecodeError) as caught:
        decoder(METADATA, 9)(bytes(100) + DATA[:20], 100)
    assert 100 <= caught.value.offset <= 120


def test_a_tree_keeps_what_was_read_before_the_error() -> None:
    node = dissect(METADATA, 9, DATA).find("topics[49].partitions[5].replica_nodes")
    tree = dissect(METADATA, 9, DATA[: node.start])
    assert tree.error is not None
    assert [topic.name for topic in tree.value.topics] == [topic["name"] for topic in TOPICS[:50]]
    last = tree.find("topics[49]")
    assert last.error is tree.error
    assert last.value.name == "topic-49"
    assert [partition.partition_index for partition in last.value.partitions] == list(range(6))
    assert dict(items(last.value.partitions[5])).keys() == {
        "error_code", "partition_index", "leader_id", "leader_epoch",
    }  # fmt: skip
    assert tree.find("topics[48]").error is None
    assert tree.end == node.start


ONE_BROKER = bytes(3) + b"\x01" + bytes(4)  # a count of 1 and its node_id


@pytest.mark.parametrize(
    ("version", "data", "why"),
    [
        (0, b"\x00", ": int32 of 4 bytes runs past the end, 1 left at byte 0"),
        (0, b"\xff\xff\xff\xfe", ": count -2 is negative at byte 0"),
        (0, b"\xff\xff\xff\xff", ": null is not allowed at byte 0"),
        (0, b"\x7f\xff\xff\xff" + bytes(9), ": 2147483647 elements do not fit the 9 bytes left at byte 0"),
        (0, ONE_BROKER + b"\xff\xff" + bytes(9), "[0].host: null is not allowed at byte 8"),
        (0, ONE_BROKER + b"\xff\xfe" + bytes(9), "[0].host: length -2 is negative at byte 8"),
        (
            0,
            ONE_BROKER + b"\0c" + bytes(9),
            "[0].host: string of 99 bytes runs past the end, 9 left at byte 10",
        ),
        (9, bytes(4) + b"\x00", ": null is not allowed at byte 4"),
        (9, bytes(4) + b"\xff\xff\xff\xff\x7f", ": varint does not fit 32 bits at byte 4"),
        (
            9,
            bytes(4) + b"\xff\xff\xff\xff\x0f",
            ": 4294967294 elements do not fit the 0 bytes left at byte 4",
        ),
    ],
)
def test_reasons(version: int, data: bytes, why: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoder(METADATA, version)(data, 0)
    assert str(caught.value) == "MetadataResponse.brokers" + why


def test_a_tag_whose_size_is_wrong_is_an_error() -> None:
    fetch = response(1)
    good = encode(fetch, 16, {"responses": [], "node_endpoints": []})
    assert good.endswith(b"\x01\x00\x01\x01")  # one tag: number 0, size 1, an empty compact array
    bad = good[:-2] + b"\x02\x01\x00"
    with pytest.raises(DecodeError, match=r"tag 0 \(node_endpoints\) takes 1 byte, its size says 2"):
        decoder(fetch, 16)(bad, 0)


def test_the_null_marker_of_a_struct_is_a_signed_byte() -> None:
    heartbeat = response(68)
    head = encode(heartbeat, 0, {"member_id": "m", "assignment": None})
    assert head.endswith(b"\xff\x00")
    value, _ = decoder(heartbeat, 0)(head, 0)
    assert value.assignment is None
    value, _ = decoder(heartbeat, 0)(head[:-2] + b"\x01\x01\x00\x00", 0)
    assert value.assignment.topic_partitions == []
