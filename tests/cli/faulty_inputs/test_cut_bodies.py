"""A body that was cut, or has one wrong field, is told up to there in every form of output."""

import json
from pathlib import Path

import pytest

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.packets.packet import Packet
from tests.support.console import run
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

METADATA, FETCH = 3, 1
TOPICS = [{"name": f"topic-{i}", "partitions": [{"partition_index": i}]} for i in range(9)]
BOTH_WAYS = pytest.mark.parametrize("native", ["0", "1"], ids=["in Python", "compiled"])


def shortened(packets: list[Packet], end: bytes) -> list[Packet]:
    """Return the last packet cut in front of some of its bytes."""
    last = packets[-1]
    return [*packets[:-1], last._replace(data=last.data[: last.data.index(end)])]


def metadata(tmp_path: Path, *, count: int = len(TOPICS) + 1, cut: bytes = b"") -> str:
    asked = encode_request(METADATA, 12, 1, "me", {"topics": None})
    told = encode_response(METADATA, 12, 1, {"topics": TOPICS})
    at = told.index(b"\x08topic-0") - 3
    assert told[at] == len(TOPICS) + 1
    told = told[:at] + bytes((count,)) + told[at + 1 :]
    packets = Conversation().handshake().client(asked).broker(told).packets
    return write_pcap(tmp_path / "c.pcap", shortened(packets, cut) if cut else packets)


def output(*arguments: str, native: str = "1") -> str:
    ran = run(*arguments, KDISSECT_NATIVE=native)
    assert ran.code == 0, ran.err
    return ran.out


@BOTH_WAYS
def test_a_cut_body(native: str, tmp_path: Path) -> None:
    path = metadata(tmp_path, cut=b"topic-4")
    names = [f"topic-{i}" for i in range(4)]
    row = json.loads(output("inspect", "--bodies", "--format", "jsonl", path, native=native))
    found = row["response"]
    assert [topic.get("name") for topic in found["body"]["topics"]] == [*names, None]
    assert found["error"].startswith(
        f"only {found['captured'] - 4} of {found['bytes'] - 4} bytes were captured, up to "
    )
    assert found["error"].endswith("MetadataResponse.topics[4].name")
    assert row["topics"] == names
    for form in ("tsv", "csv"):
        text = output("inspect", "-e", "response.body,response.error", "--format", form, path, native=native)
        assert all(name in text for name in (*names, "only "))
        assert "topic-4" not in text
    for text, is_found in (
        ("response.topics.name == 'topic-3'", True),
        ("response.topics.name == 'topic-5'", False),
    ):
        assert bool(output("inspect", "-Y", text, "--format", "jsonl", path, native=native)) == is_found
    tree = output("inspect", "--bodies", "--format", "tree", path, native=native)
    assert "topics: []MetadataResponseTopic = 9 elements" in tree
    assert '"topic-3"' in tree


@BOTH_WAYS
def test_a_body_with_a_wrong_count(native: str, tmp_path: Path) -> None:
    path = metadata(tmp_path, count=127)
    row = json.loads(output("inspect", "--bodies", "--format", "jsonl", path, native=native))
    assert [topic.get("name") for topic in row["response"]["body"]["topics"]][:9] == [
        t["name"] for t in TOPICS
    ]
    assert "126 elements do not fit the" in row["response"]["error"]
    assert [anomaly["kind"] for anomaly in row["anomalies"]] == ["malformed_body"]
    assert "126 elements" in output("inspect", "--bodies", "--format", "tree", path, native=native)


@BOTH_WAYS
def test_records_of_batches_before_the_cut_are_records(native: str, tmp_path: Path) -> None:
    batches = [batch_bytes(record_bytes(value=b"value-%d" % i), base_offset=i) for i in range(4)]
    partitions = [{"partition_index": i, "records": each} for i, each in enumerate(batches)]
    told = encode_response(FETCH, 11, 1, {"responses": [{"topic": "orders", "partitions": partitions}]})
    packets = Conversation().handshake().client(encode_request(FETCH, 11, 1, "me", {})).broker(told).packets
    path = write_pcap(tmp_path / "c.pcap", shortened(packets, b"value-2"))
    rows = map(json.loads, output("records", "--format", "jsonl", path, native=native).splitlines())
    assert [(row["topic"], row["partition"], row["value"]) for row in rows] == [
        ("orders", 0, "value-0"), ("orders", 1, "value-1"),
    ]  # fmt: skip
    row = json.loads(output("inspect", "--records", "--format", "jsonl", path, native=native))
    found = [each["records"] for each in row["response"]["body"]["responses"][0]["partitions"]]
    assert [len(each["batches"]) for each in found] == [1, 1, 0]
    assert [each["bytes"] for each in found] == [len(batches[0])] * 3
    assert [each.get("cut") for each in found] == [None, None, len(batches[0]) - 8]
    tree = output("inspect", "--records", "--format", "tree", path, native=native)
    assert tree.count(": record batch") == 2


@BOTH_WAYS
def test_a_frame_that_the_capture_cut_was_not_cut_by_its_sender(native: str, tmp_path: Path) -> None:
    asked = encode_request(METADATA, 12, 1, "me", {"topics": None})
    talk = (
        Conversation().handshake().client(asked).broker(encode_response(METADATA, 12, 1, {"topics": TOPICS}))
    )
    packets = shortened(talk.packets, b"topic-4")
    path = write_pcap(tmp_path / "c.pcap", [*packets, *talk.fin(1).fin(0).packets[len(packets) :]])
    ran = run("check", "--format", "json", path, KDISSECT_NATIVE=native)
    assert "FRM005" not in {found["code"] for found in json.loads(ran.out)["findings"]}
