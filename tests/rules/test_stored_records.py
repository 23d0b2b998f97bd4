"""Records that Produce names otherwise than Fetch, in a capture: blocks of rows and single exchanges."""

from pathlib import Path

import pytest

from tests.rules.fixtures.values import TOPIC_ID
from tests.rules.scripted_connection import Fields, ScriptedConnection
from tests.support.console import run
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.packets.pcap_writer import PcapWriter

ROUNDS = 40
"""Fetches before the one that differs, so that the kind has a plan and passes as rows."""


def batch(value: bytes, base_offset: int = 0) -> bytes:
    return batch_bytes(
        record_bytes(value=value), 1, producer_id=5, epoch=0, sequence=7, base_timestamp=1, max_timestamp=1,
        base_offset=base_offset,
    )  # fmt: skip


def described(*ids: bytes) -> list[Fields]:
    row = {"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
    broker = {"node_id": 1, "host": "b", "port": 9092}
    topics = [[{"name": "a", "topic_id": topic_id, "partitions": [row]}] for topic_id in ids]
    return [{"brokers": [broker], "topics": one} for one in topics]


@pytest.mark.parametrize(
    ("ids", "code"), [((TOPIC_ID,), 1), ((), 0), ((TOPIC_ID[::-1], TOPIC_ID), 0)], ids=["one", "none", "two"]
)
def test_a_topic_that_is_produced_by_name_and_fetched_by_id(
    ids: tuple[bytes, ...], code: int, tmp_path: Path
) -> None:
    talk = ScriptedConnection()
    for answer in described(*ids):
        talk.exchange("Metadata", 12, {"topics": None}, answer)
    data = [{"name": "a", "partition_data": [{"index": 0, "records": batch(b"v")}]}]
    rows = [{"index": 0, "base_offset": 100}]
    asked: Fields = {"acks": -1, "transactional_id": None, "topic_data": data}
    talk.exchange("Produce", 9, asked, {"responses": [{"name": "a", "partition_responses": rows}]})
    for value in [b"v"] * ROUNDS + [b"w"]:
        which = {"topic_id": TOPIC_ID}
        fetched = {"partition_index": 0, "high_watermark": 101, "records": batch(value, 100)}
        wanted = {"partition": 0, "fetch_offset": 100, "partition_max_bytes": 1000}
        talk.exchange(
            "Fetch", 13,
            {"session_epoch": -1, "max_bytes": 1000, "topics": [{**which, "partitions": [wanted]}]},
            {"responses": [{**which, "partitions": [fetched]}]},
        )  # fmt: skip
    path = tmp_path / "talk.pcap"
    with path.open("wb") as stream:
        writer = PcapWriter(stream)
        for packet in talk.close():
            writer.write_packet(packet)
    ran = run("check", path, "--select", "FET031", "--fail-on", "error")
    assert (ran.code, ran.out.count("FET031") > 0) == (code, bool(code)), ran.out
