"""`kdissect info`: counts that agree with `inspect`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kdissect
from kdissect.capture.formats.pcapng import MAX_LISTED, MAX_TEXT
from kdissect.cli import main
from kdissect.engine.records.record_sets import record_sets
from tests.capture.capture_samples import enhanced, interface, option, section
from tests.support.console import CAPTURES, TXN
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap


def info(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capfd.readouterr()
    assert main(["info", "--format", "json", *arguments]) == 0
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("path", sorted(map(str, CAPTURES.glob("*.pcap"))))
def test_counts_are_those_of_inspect(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    facts = info(capfd, path)
    assert main(["inspect", path, "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert facts["exchanges"] == {"total": len(rows), "by_state": dict(Counter(row["state"] for row in rows))}
    apis = Counter((row["api_key"], row["api"], row["api_version"]) for row in rows)
    assert {
        (api["api_key"], api["api"], api["api_version"]): api["exchanges"] for api in facts["apis"]
    } == apis
    assert facts["errors"] == Counter(error for row in rows for error in row["errors"])
    assert main(["connections", path, "--format", "jsonl"]) == 0
    connections = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert facts["connections"]["total"] == len(connections)
    assert sum(connection["exchanges"] for connection in connections) == len(rows)


def test_facts_of_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    facts = info(capfd, TXN)
    assert facts["files"] == [
        {
            "path": TXN, "capture_set": "tansu_rdk216_txn", "format": "pcap", "compression": "none",
            "link_types": ["ETHERNET"], "interfaces": [], "size": 111455, "packets": 345,
            "bytes": 111455 - 24 - 16 * 345,
            "dropped": 0,
            "first_time": facts["files"][0]["first_time"], "last_time": facts["files"][0]["last_time"],
            "duration_ns": facts["files"][0]["duration_ns"], "error": None, "anomalies": [],
        }
    ]  # fmt: skip
    assert facts["packets"]["total"] == facts["packets"]["tcp"] == 345
    assert facts["connections"]["by_kind"] == {"kafka": 16}
    assert "deep" not in facts


def test_deep_finds_bodies_that_do_not_fit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = Conversation().handshake()
    talk.client(request(3, 0, 1, bytes(4))).broker(response(1, bytes(8)))
    talk.client(request(3, 0, 2, bytes(4) + b"xy")).broker(response(2, b"\x7f\0\0\0" + bytes(4)))
    talk.client(request(3, 0, 3, bytes(4))).broker(response(3, bytes(8)))
    path = write_pcap(tmp_path / "odd.pcap", talk.packets)
    deep = info(capfd, path, "--deep")["deep"]
    assert {name: deep[name] for name in ("bodies", "cut", "undecodable", "trailing_bytes")} == {
        "bodies": 6, "cut": 0, "undecodable": 1, "trailing_bytes": 1,
    }  # fmt: skip
    assert [(e["exchange"], e["side"], e["file"], e["api"]) for e in deep["examples"]] == [
        (1, "request", path, "Metadata"), (1, "response", path, "Metadata"),
    ]  # fmt: skip
    assert deep["examples"][1]["why"].startswith("MetadataResponse.brokers")
    assert main(["info", path, "--deep"]) == 0
    text = capfd.readouterr().out
    assert deep["examples"][1]["why"] in text


def test_deep_checks_the_checksum_of_every_batch(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = info(capfd, TXN, "--deep")
    assert good["deep"]["batches"] > 10
    assert good["deep"]["bad_crcs"] == 0
    batches = [
        batch
        for exchange in kdissect.open(TXN)
        for records in record_sets(exchange)
        for batch in records.found.batches
    ]
    assert good["deep"]["batches"] == len(batches)
    first = batches[0].data[batches[0].start : batches[0].end]
    data = Path(TXN).read_bytes()
    assert data.count(first) == 1
    path = tmp_path / "damaged.pcap"
    path.write_bytes(data.replace(first, first[:-1] + bytes([first[-1] ^ 1])))
    bad = info(capfd, str(path), "--deep")
    assert bad["deep"]["bad_crcs"] == 1
    assert bad["anomalies"]["bad_crc"] == 1
    assert bad["deep"]["undecodable"] == good["deep"]["undecodable"]


def test_text(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", TXN, "--deep"]) == 0
    out = capfd.readouterr().out
    for line in (
        "connections  16",
        "exchanges  98",
        "  complete    91",
        "  unanswered   7",
        "bodies  189",
        "  with a wrong checksum  0",
    ):
        assert line in out.splitlines()


def test_interfaces_and_capture_filters(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of a pcapng file: what the capture was told to leave out explains what is not in it."""
    texts = (
        option(2, b"eth0") + option(3, b"uplink \x1b[31m") + option(11, b"\0tcp port 9092") + option(0, b"")
    )
    code = option(2, b"lo\0") + option(11, b"\1\0\0\0\0\0\0\0\0") + option(0, b"")
    path = tmp_path / "two.pcapng"
    path.write_bytes(
        section() + interface(snaplen=128, options=texts) + interface(options=code)
        + interface(snaplen=262144) + enhanced(1, bytes(60))
    )  # fmt: skip
    (file,) = info(capfd, str(path))["files"]
    assert file["interfaces"] == [
        {
            "name": "eth0", "description": "uplink \x1b[31m", "filter": "tcp port 9092",
            "link_type": "ETHERNET", "snapshot_length": 128,
        },
        {
            "name": "lo", "description": None, "filter": None, "link_type": "ETHERNET",
            "snapshot_length": None,
        },
        {
            "name": None, "description": None, "filter": None, "link_type": "ETHERNET",
            "snapshot_length": 262144,
        },
    ]  # fmt: skip
    assert main(["info", str(path), "--format", "text"]) == 0
    lines = capfd.readouterr().out.splitlines()
    shown = [line.strip() for line in lines if line.startswith("  interface ")]
    assert shown == [
        "interface eth0 uplink \\x1b[31m, capture filter tcp port 9092, snapshot length 128 bytes",
        "interface lo",
    ]


def test_interfaces_without_end_are_not_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.pcapng"
    many = interface(options=option(2, b"x" * 5000) + option(0, b"")) * (MAX_LISTED + 1)
    path.write_bytes(section() + many + enhanced(1, bytes(60)))
    (file,) = info(capfd, str(path))["files"]
    assert [one["name"] for one in file["interfaces"]] == ["x" * MAX_TEXT] * MAX_LISTED
