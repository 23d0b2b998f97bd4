"""Names for addresses: the file, and what prints them."""

import json
from pathlib import Path

import pytest

from kdissect.cli import COMMANDS, main
from kdissect.model.hosts import parse_hosts
from tests.support.console import TXN

NAMES = "127.0.0.1:9092 kafka-1\n127.0.0.1 laptop alias # here\n"
READING = [
    "inspect", "connections", "records", "stats", "topics", "groups", "producers", "fetch-sessions", "logins",
    "changes", "offsets",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.0.0.1 a a.example.com\n\n# comment\n::1 here # me\n", {"10.0.0.1": "a", "::1": "here"}),
        ("address,name\n10.0.0.1,kafka-1\n", {"10.0.0.1": "kafka-1"}),
        ('"kafka-1";"10.0.0.1"', {"10.0.0.1": "kafka-1"}),
        ("kafka-1,10.0.0.1,rack a", {"10.0.0.1": "kafka-1"}),
        ("FE80::0:1\tkafka", {"fe80::1": "kafka"}),
        ("[fe80::1]:9092 kafka", {"[fe80::1]:9092": "kafka"}),
        ("10.0.0.1:9092 kafka\n10.0.0.1 host", {"10.0.0.1:9092": "kafka", "10.0.0.1": "host"}),
        ("10.0.0.1 first\n10.0.0.1 second", {"10.0.0.1": "first"}),
        ("", {}),
    ],
)  # fmt: skip
def test_files(text: str, found: dict[str, str]) -> None:
    assert parse_hosts(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [("10.0.0.1", "line 1: a line is"), ("10.0.0.1 a\nhost b", "line 2: neither 'host' nor 'b'"),
     ("10.0.0.1 \x1b[2J", "no name of a host"), ("10.0.0.1 a:b", "no name of a host"),
     ("10.0.0.1:99999 a", "neither")],
)  # fmt: skip
def test_wrong_files(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("[", r"\[")):
        parse_hosts(text)


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    path = tmp_path / "hosts"
    path.write_text(NAMES)
    return str(path)


@pytest.mark.parametrize("command", [name for name in READING if name in COMMANDS])
def test_commands_take_names(command: str, hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    for options in (["--hosts", hosts], ["--hosts", hosts, "-n"]):
        columns = ["-e", "client,broker"] if command == "records" else []
        assert main([command, TXN, *options, *columns]) == 0
        out = capfd.readouterr().out
        if command in ("inspect", "connections", "records"):
            assert ("kafka-1:9092" in out) == ("-n" not in options)
            assert ("127.0.0.1" in out) == ("-n" in options)


def test_both_ways_of_writing_lines(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = []
    for options in ([], ["--bodies"]):
        assert main(["inspect", TXN, "--hosts", hosts, "--format", "jsonl", *options]) == 0
        found.append(json.loads(capfd.readouterr().out.splitlines()[0]))
    assert {(row["client"].partition(":")[0], row["broker"]) for row in found} == {("laptop", "kafka-1:9092")}


def test_names_change_no_identity(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = []
    for options in ([], ["--hosts", hosts]):
        assert main(["inspect", TXN, "--format", "jsonl", *options]) == 0
        lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        rows.append([(row["connection"], row["exchange"], row["topics"]) for row in lines])
    assert rows[0] == rows[1]


def test_the_environment_names_a_file(
    hosts: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KDISSECT_HOSTS", hosts)
    assert main(["connections", TXN]) == 0
    assert "kafka-1:9092" in capfd.readouterr().out
    monkeypatch.setenv("KDISSECT_HOSTS", hosts + ".absent")
    assert main(["connections", TXN]) == 2


def test_stats_by_names(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", TXN, "--hosts", hosts, "--by", "client,broker", "--format", "json"]) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert [(row["client"], row["broker"]) for row in rows] == [("laptop", "kafka-1:9092")]
