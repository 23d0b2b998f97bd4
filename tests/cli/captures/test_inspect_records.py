"""`inspect --records`: records inside the bodies, and in the tree."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from tests.cli.captures.test_records import produced
from tests.support.console import TXN, run
from tests.support.messages.batches import batch_bytes, record_bytes


def lines(capfd: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    assert main([*map(str, arguments), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def places(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [place for item in value for place in places(item)]
    if not isinstance(value, dict):
        return []
    if "batches" in value:
        return [value]
    return [place for item in value.values() for place in places(item)]


def test_the_records_of_bodies_are_those_of_the_records_command(capfd: pytest.CaptureFixture[str]) -> None:
    nested = [
        (row["connection"], row["exchange"], record["offset"], record["key"], record["value"])
        for row in lines(capfd, "inspect", TXN, "--records")
        for place in places(row)
        for batch in place["batches"]
        for record in batch["records"]
    ]
    flat = [
        (row["connection"], row["exchange"], row["raw_offset"], row["key"], row["value"])
        for row in lines(capfd, "records", TXN)
    ]
    assert nested == flat
    assert len(flat) == 372


def test_sizes_add_up(capfd: pytest.CaptureFixture[str]) -> None:
    for row in lines(capfd, "inspect", TXN, "--records"):
        for place in places(row):
            assert sum(batch["bytes"] for batch in place["batches"]) + place.get("cut", 0) == place["bytes"]


def test_without_the_option_records_are_their_size(capfd: pytest.CaptureFixture[str]) -> None:
    assert not [place for row in lines(capfd, "inspect", TXN, "--bodies") for place in places(row)]


def test_faults_are_anomalies_of_the_exchange(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = produced(tmp_path, batch_bytes(record_bytes(), crc=1), batch_bytes(record_bytes(value=b"good")))
    (row,) = lines(capfd, "inspect", path, "--records", "--port", 9092)
    (anomaly,) = row["anomalies"]
    assert anomaly["kind"] == "bad_crc"
    assert anomaly["detail"].startswith(
        "ProduceRequest.topic_data[0].partition_data[0].records.batches[0].crc: says 0x00000001, "
    )
    assert [batch["crc_ok"] for place in places(row) for batch in place["batches"]] == [False, True]


def test_an_empty_records_field_at_the_end_of_a_body(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (row,) = lines(capfd, "inspect", produced(tmp_path), "--records", "--port", 9092)
    assert places(row) == [{"bytes": 0, "batches": []}]


def test_the_tree_shows_batches_only_when_asked() -> None:
    plain = run("inspect", TXN, "--format", "tree", "--api", "Produce", "--limit", 1).out
    nested = run("inspect", TXN, "--format", "tree", "--api", "Produce", "--limit", 1, "--records").out
    assert "record batch" not in plain
    assert "record_count: int32 = 24" in nested
    assert "records[23]: record" in nested


def test_decode_takes_batches_apart() -> None:
    batch = batch_bytes(record_bytes(value=b"hello"))
    body = b"\xff\xff" + b"\x00\x01" + bytes(4) + b"\x00\x00\x00\x01" + b"\x00\x01t" + b"\x00\x00\x00\x01"
    body += bytes(4) + len(batch).to_bytes(4) + batch
    options = ("--body", "--api", "Produce", "--api-version", 3)
    assert 'value: bytes = "hello"' in run("decode", body.hex(), *options, "--records").out
    assert "hello" not in run("decode", body.hex(), *options).out


def test_secrets_of_own_topics_stay_hidden(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scram = b"\x01\x0b\x00" + b"\x02u" + b"\x01" + b"\x07hunter" + b"\x02k" + b"\x02v" + b"\0\0\x10\0" + b"\0"
    topic = b"\x00\x12__cluster_metadata"
    batch = batch_bytes(record_bytes(value=scram))
    from tests.support.messages.traffic import Conversation, request
    from tests.support.packets.pcaps import write_pcap

    body = b"\xff\xff" + b"\x00\x01" + bytes(4) + b"\x00\x00\x00\x01" + topic + b"\x00\x00\x00\x01"
    body += bytes(4) + len(batch).to_bytes(4) + batch
    talk = Conversation().handshake().client(request(0, 3, 1, body))
    path = write_pcap(tmp_path / "own.pcap", talk.packets)
    for command in (
        ("inspect", path, "--records", "--format", "tree"),
        ("inspect", path, "--records", "--format", "jsonl"),
        ("records", path, "--format", "jsonl"),
        ("records", path, "--format", "tsv", "--value-format", "hex"),
    ):
        assert main([*command, "--port", "9092"]) == 0
        out = capfd.readouterr().out
        assert "***" in out
        assert "hunter" not in out
        assert b"hunter".hex() not in out
        assert b"hunter".hex(" ") not in out
