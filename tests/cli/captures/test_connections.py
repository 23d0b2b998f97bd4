"""`kdissect connections`."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.engine.connection_rows import CONNECTION_FIELDS
from kdissect.stats.failed_connections import PROBLEM_FIELDS
from tests.support.console import CAPTURES, TXN, run
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.packets.pcaps import write_pcap


def connections(capfd: pytest.CaptureFixture[str], path: str) -> list[dict[str, Any]]:
    capfd.readouterr()
    assert main(["connections", path, "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_rows_have_the_documented_fields(capfd: pytest.CaptureFixture[str]) -> None:
    for row in connections(capfd, TXN):
        names = [field.name for field in CONNECTION_FIELDS if "." not in field.name]
        not_told = {"processes", "client_proxied"}  # by this capture
        assert list(row) == [name for name in names if name not in not_told]


def test_one_connection(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    token = b"\0alice\0opensesame"
    talk = Conversation(start_ns=1_700_000_000 * 10**9).handshake()
    # a header with an empty tag section, compact strings, and once more an empty tag section
    talk.client(request(18, 3, 1, b"\0\x06thing\x061.0.1\0", client_id=b"me"))
    talk.broker(response(1, b"\0\0\x01\0\0\0\0\0"))
    talk.client(request(17, 1, 2, b"\0\x05PLAIN", client_id=b"me")).broker(
        response(2, b"\0\0\0\0\0\x01\0\x05PLAIN")
    )
    talk.client(request(36, 0, 3, len(token).to_bytes(4) + token, client_id=b"me"))
    talk.broker(response(3, b"\0\0\xff\xff\0\0\0\0"))
    talk.client(request(3, 0, 4, bytes(4), client_id=b"me"))
    talk.rst(BROKER)
    (row,) = connections(capfd, write_pcap(tmp_path / "one.pcap", talk.packets))
    expected = {
        "client": "10.0.0.1:40000", "broker": "10.0.0.2:9092", "kind": "kafka", "client_id": "me",
        "software": "thing 1.0.1", "principal": "alice", "mechanism": "PLAIN", "start":
        "2023-11-14T22:13:20.001000000Z",
        "duration_ns": 10 * 10**6, "middle_start": False, "exchanges": 4, "unanswered": 1, "packets": 11,
        "gaps": 0,
        "retransmissions": 0, "resets": 1, "closed": {"by": "broker", "how": "rst"},
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_who_closed_and_what_went_wrong(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    talk = Conversation().handshake()
    talk.client(request(3, 0, 1, bytes(4))).broker(response(1, bytes(8)))
    talk.lose(CLIENT, request(3, 0, 2, bytes(4))).broker(response(2, bytes(8)))
    talk.client(request(3, 0, 3, bytes(4))).broker(response(3, bytes(8)))
    talk.fin(CLIENT).fin(BROKER)
    (row,) = connections(capfd, write_pcap(tmp_path / "lossy.pcap", talk.packets))
    assert row["closed"] == {"by": "client", "how": "fin"}
    assert (row["gaps"], row["gap_bytes"]) == (1, len(request(3, 0, 2, bytes(4))))


def test_tables(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("table", "tsv", "csv"):
        capfd.readouterr()
        assert main(["connections", TXN, "--format", name]) == 0
        lines = capfd.readouterr().out.splitlines()
        assert len(lines) == 17
        assert "127.0.0.1:53058" in lines[1]


def test_problems_have_the_documented_fields_and_their_packets(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "kafka44_connect_plain.pcapng")
    assert main(["connections", path, "--problems", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["start_ns"] for row in rows] == sorted(row["start_ns"] for row in rows)
    for row in rows:
        assert list(row) == [field.name for field in PROBLEM_FIELDS]
        assert row["packets"] and row["file"] == path


def test_packets_of_files_that_follow_each_other(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = Conversation().handshake().fin(CLIENT).packets
    second = Conversation(ports=(40001, 9092), start_ns=first[-1].time_ns).handshake().fin(BROKER).packets
    paths = [
        write_pcap(tmp_path / name, packets) for name, packets in (("a0.pcap", first), ("a1.pcap", second))
    ]
    assert main(["connections", *paths, "--problems", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(row["reason"], row["file"], row["packets"]) for row in rows] == [
        ("probe", paths[0], [1, 2, 3, 4]),
        ("closed_at_once", paths[1], [1, 2, 3, 4]),
    ]


def test_nothing_to_show_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["connections", TXN, "--problems", "--format", "jsonl"]) == 0
    said = capfd.readouterr()
    assert not said.out
    assert said.err.splitlines()[-1] == "kdissect: 16 connections, and no failed one"


def test_what_cannot_be_read_again_has_no_packets() -> None:
    data = (CAPTURES / "kafka44_connect_plain.pcapng").read_bytes()
    ran = run("connections", "-", "--problems", "--format", "jsonl", stdin=data)
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert rows and not any(row["packets"] or row["file"] for row in rows)


def test_info_counts_them(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "kafka44_connect_tls.pcapng")
    assert main(["info", path, "--format", "json"]) == 0
    counted = json.loads(capfd.readouterr().out)["connections"]["problems"]
    assert main(["connections", path, "--problems", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert counted == dict(Counter(row["reason"] for row in rows))
    assert main(["info", TXN]) == 0
    assert "failed connections" not in capfd.readouterr().out


def test_packets_of_problems_are_found_however_many_flows_there_are(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for kept in (100_000, 1):
        monkeypatch.setattr("kdissect.cli.captures.problems_text.FLOWS_KEPT", kept)
        assert main(["connections", str(CAPTURES / "kafka44_connect_plain.pcapng"), "--problems"]) == 0
        told.append(capfd.readouterr().out)
    assert told[0] == told[1]


def test_a_filter_leaves_out_problems(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "kafka44_connect_plain.pcapng")
    assert (
        main(["connections", path, "--problems", "-Y", "client_id == 'password-j'", "--format", "jsonl"]) == 0
    )
    (row,) = (json.loads(line) for line in capfd.readouterr().out.splitlines())
    assert (row["client_id"], row["reason"]) == ("password-j", "login_refused")


def test_problems_beyond_the_bound_are_counted(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kdissect.cli.captures.problems_text.MAX_PROBLEMS", 5)
    assert main(["connections", str(CAPTURES / "kafka44_connect_tls.pcapng"), "--problems"]) == 0
    said = capfd.readouterr()
    assert len(said.out.splitlines()) == 1 + 5
    assert re.search(r"^kdissect: left out: \d+ more connections that failed$", said.err, re.M)
