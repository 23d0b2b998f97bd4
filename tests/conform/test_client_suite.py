"""`kdissect conform client` with a client of its own: a healthy one, and one for each fault."""

import json
import os
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.conform.client import client_suite, scripted_cluster
from kdissect.conform.client.client_suite import PLAIN, ClientRun, play_situations
from kdissect.conform.client.situations import SITUATIONS
from kdissect.conform.conform_report import conform_schema
from kdissect.model.finding import Who
from kdissect.report.json import report_schema
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule_selection import select
from tests.support.console import CHECKOUT

FINDINGS, USAGE, UNREADABLE, NOTHING = 1, 2, 3, 4
# Fault, role of the client, situation, statement.
FAULTS = [
    ("same version", "producer", "ApiVersions refused", "CNF101"),
    ("newest", "producer", "old broker", "CNF100"),
    ("strict tags", "producer", "unknown tags", "CNF170"),
    ("one read", "producer", "responses in pieces", "CNF171"),
    ("gives up", "producer", "connection lost at Metadata", "CNF173"),
    ("any id", "producer", "wrong correlation id", "CNF174"),
    ("no patience", "producer", "no leader", "CNF112"),
    ("old leader", "producer", "leader change at Produce", "CNF110"),
    ("old leader", "producer", "leader change at Produce", "CNF111"),
    ("old leader", "producer", "leader lost at Produce", "CNF110"),
    ("old leader", "producer", "leader lost at Produce", "CNF111"),
    ("no retries", "producer", "retriable error at Produce", "CNF120"),
    ("same sequence", "producer", "batches in order", "CNF125"),
    ("new sequence", "producer", "retriable error at Produce", "CNF121"),
    ("stubborn", "producer", "fatal error at Produce", "CNF122"),
    ("hasty", "producer", "throttled Produce", "CNF160"),
    ("hasty elsewhere", "producer", "throttled Produce", "CNF160"),
    ("no patience", "producer", "no producer id yet", "CNF123"),
    ("old leader", "consumer", "leader change at Fetch", "CNF110"),
    ("skips", "consumer", "leader change at Fetch", "CNF131"),
    ("old leader", "consumer", "leader lost at Fetch", "CNF111"),
    ("same offset", "consumer", "records deleted", "CNF130"),
    ("same offset", "consumer", "log shorter", "CNF130"),
    ("old session", "consumer", "fetch session lost", "CNF132"),
    ("opens again", "consumer", "fetch sessions", "CNF133"),
    ("no patience", "consumer", "no coordinator", "CNF142"),
    ("old coordinator", "consumer", "coordinator lost at JoinGroup", "CNF140"),
    ("old coordinator", "consumer", "coordinator lost at Heartbeat", "CNF140"),
    ("old coordinator", "consumer", "coordinator lost at OffsetCommit", "CNF141"),
    ("no member id", "consumer", "new member", "CNF150"),
    ("forgets itself", "consumer", "rebalance at Heartbeat", "CNF151"),
    ("keeps id", "consumer", "member forgotten", "CNF152"),
    ("stays", "consumer", "generation over", "CNF153"),
]


def command(role: str, fault: str = "") -> list[str]:
    code = f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); sys.argv[0] = 'client'; "
    run = "from tests.conform.small_client import main; main()"
    return [sys.executable, "-c", code + run, "{bootstrap}", role, *([fault] if fault else [])]


def conform(
    capfd: pytest.CaptureFixture[str], words: list[str], *more: str, situations: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any]]:
    """Return exit code and report."""
    chosen = [word for name in situations for word in ("--situation", name)]
    code = main(["conform", "client", "--format", "json", *chosen, *more, "--", *words])
    return code, json.loads(capfd.readouterr().out)


def results(report: dict[str, Any]) -> dict[str, str]:
    return {row["code"]: row["result"] for row in report["statements"]}


def of_situations(report: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["result"] for row in report["situations"]}


@pytest.mark.parametrize(("role", "tested"), [("producer", 15), ("consumer", 20)])
def test_a_healthy_client_passes(role: str, tested: int, capfd: pytest.CaptureFixture[str]) -> None:
    code, report = conform(capfd, command(role))
    assert code == 0, report["check"]["findings"]
    found = of_situations(report)
    assert set(found) == {PLAIN.name, *(one.name for one in SITUATIONS)}
    assert set(found.values()) <= {"passed", "not reached", "not played"}
    assert list(results(report).values()).count("passed") >= tested
    jsonschema.Draft202012Validator(json.loads(conform_schema())).validate(report)
    jsonschema.Draft202012Validator(json.loads(report_schema())).validate(report["check"])


@pytest.mark.parametrize(("fault", "role", "situation", "statement"), FAULTS)
def test_a_fault_is_found_with_its_bytes(
    fault: str, role: str, situation: str, statement: str, capfd: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(client_suite, "ENOUGH_S", 3.0)
    capture = tmp_path / "run.pcapng"
    more = ("--timeout", "3s", "--capture", str(capture))
    _, report = conform(capfd, command(role, fault), *more, situations=(situation,))
    assert of_situations(report)[situation] == "failed", report["situations"]
    assert results(report)[statement] == "failed"
    found = next(row for row in report["check"]["findings"] if row["code"] == statement)
    where = found["where"]
    inspect = ["inspect", str(capture), "--exchange", f"{where['connection']}/{where['exchange']}"]
    assert main([*inspect, "--format", "jsonl"]) == 0
    assert json.loads(capfd.readouterr().out)["api"] == where["api"]


# Time of each situation, role, situation. A slow client does what is expected after this time.
SLOW = [
    ("3s", "producer", "slow response"),
    ("4s", "producer", "leader change at Produce"),
    ("4s", "consumer", "coordinator lost at Heartbeat"),
    ("4s", "consumer", "member forgotten"),
    ("4s", "consumer", "generation over"),
]


@pytest.mark.parametrize(("timeout", "role", "situation"), SLOW)
def test_a_client_has_enough_time_after_a_situation(
    timeout: str, role: str, situation: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, report = conform(capfd, command(role, "slow"), "--timeout", timeout, situations=(situation,))
    assert code == 0, report["check"]["findings"]
    assert of_situations(report)[situation] == "passed", report["situations"]


def test_a_client_that_ends_at_once_shows_nothing_about_throttling(capfd: pytest.CaptureFixture[str]) -> None:
    name = "throttled Produce"
    code, report = conform(capfd, command("producer", "one record"), situations=(name,))
    assert code == 0
    assert of_situations(report)[name] == "not concluded"
    assert results(report)["CNF160"] == "not tested"


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_the_scripted_cluster_does_what_brokers_do(role: str, tmp_path: Path) -> None:
    """The rules about brokers have nothing to report while no situation is played."""
    path = tmp_path / "run.pcapng"
    run = ClientRun(command(role), "4.4.0", 30)
    with path.open("wb") as capture:
        play_situations(run, [PLAIN.name], capture)
    judge = Judge(select(ALL_RULES, [], [], Who.BROKER), Who.BROKER)
    for event in Dissection(str(path), ports=tuple(run.ports)).events():
        judge.add(event)
    judge.finish()
    assert judge.coverage.exchanges > 5
    assert [repr(one) for one in judge.findings.all() if one.severity != "info"] == []


BAD_COMMANDS = {
    "ends at once": "pass",
    "fails": "raise SystemExit('no')",
    "hangs": "import time; time.sleep(60)",
    "prints without end": "while True: print('x' * 1000)",
    "sends garbage": """
import socket, sys
host, port = sys.argv[1].split(",")[0].split(":")
wire = socket.create_connection((host, int(port)))
wire.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" * 1000)
wire.recv(100)
""",
    "connects only": """
import socket, sys, time
host, port = sys.argv[1].split(",")[0].split(":")
made = [socket.create_connection((host, int(port))) for _ in range(20)]
time.sleep(60)
""",
}


@pytest.mark.parametrize("name", BAD_COMMANDS)
def test_a_command_that_is_no_client_costs_no_run(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = [sys.executable, "-c", BAD_COMMANDS[name], "{bootstrap}"]
    code, report = conform(capfd, words, "--timeout", "1s")
    assert code == NOTHING
    assert report["skipped"] == [{"sequence": PLAIN.name, "why": "the command sent no request"}]


FLOOD = """
import socket, struct, sys
host, port = sys.argv[1].split(",")[0].split(":")
frame = struct.pack(">ihhih", 10, 18, 0, 1, -1)
while True:
    try:
        wire = socket.create_connection((host, int(port)))
        while True:
            wire.sendall(frame * 1000)
            wire.recv(1 << 20)
    except OSError:
        pass
"""


def test_a_command_that_floods_costs_its_situation(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_cluster, "MAX_REQUESTS", 500)
    words = [sys.executable, "-c", FLOOD, "{bootstrap}"]
    code, report = conform(capfd, words, situations=("responses in pieces",))
    assert code in (0, FINDINGS)
    assert report["situations"][0]["why_not"] == "the client sent more than 500 requests"


def runs(pid: int) -> bool:
    """Return whether a process runs. One that has ended may wait for its parent."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_processes_are_ended_with_the_run(tmp_path: Path) -> None:
    """Also those that the command started, and if a signal ends the run."""
    mark = tmp_path / "pids"
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "kdissect", "conform", "client", "--timeout", "300s", "--format", "json", "--",
         sys.executable, "-c", program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=CHECKOUT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    while not (mark.exists() and len(mark.read_text().split()) == 2) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["ended_early"] == "it was interrupted"
    assert not any(map(runs, map(int, mark.read_text().split())))
    assert [one.name for one in tmp_path.iterdir()] == ["pids"]


@pytest.mark.parametrize(
    "words",
    [
        ["client"],
        ["client", "--"],
        ["client", "127.0.0.1:1", "--", "true"],
        ["client", "--api", "Fetch", "--", "true"],
        ["client", "--situation", "no such", "--", "true"],
        ["broker"],
        ["broker", "127.0.0.1:1", "--situation", "no leader"],
        ["broker", "127.0.0.1:1", "--", "true"],
        ["client", "--topic", "", "--", "true"],
        ["client", "--topic", "two words", "--", "true"],
        ["client", "--capture", "-", "--", "true"],
        ["client", "--", ""],
        ["--json", "diff", "A.json", "B.json"],
    ],
)
def test_wrong_usage(
    words: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["conform", *words]) == USAGE
    assert "kdissect-conform-" not in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_diff(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--help"]) == 0
    assert "{broker,client,diff}" in capfd.readouterr().out


def test_the_text_shows_how_a_command_without_requests_ended(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "client", "--", "sh", "-c", "echo x >&2; exit 7"]) == NOTHING
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert ["nothing", "not", "reached", "0", "status", "7:", "x"] in lines


def test_a_command_that_cannot_be_started(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "client", "--", "/no/such/program"]) == UNREADABLE
    assert "/no/such/program: No such file or directory" in capfd.readouterr().err


def test_the_address_is_in_the_environment() -> None:
    code = "import os, sys; sys.exit(os.environ['KDISSECT_BOOTSTRAP'].count('127.0.0.1'))"
    run = ClientRun([sys.executable, "-c", code], "4.4.0", 10)
    play_situations(run, [], BytesIO())
    assert run.played[0].command == "status 3"


@pytest.mark.parametrize("release", ["2.1", "3.0", "4.4"])
def test_a_release_has_its_versions(release: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, report = conform(capfd, command("producer"), "--target", release, situations=("no leader",))
    assert code == 0, report["check"]["findings"]
    assert of_situations(report)["no leader"] == "passed"


OLD_CLIENT = """
import socket, struct, sys
def exchange(key):
    host, port = sys.argv[1].split(",")[0].split(":")
    with socket.create_connection((host, int(port))) as wire:
        content = struct.pack(">hhih", key, 0, 1, -1) + (b"" if key == 18 else bytes(4))
        wire.sendall(struct.pack(">i", len(content)) + content)
        return wire.recv(1 << 16)
for key in map(int, sys.argv[2:]):
    print(key, len(exchange(key)), file=sys.stderr)
sys.exit(7)
"""
API_VERSIONS, METADATA = "18", "3"


@pytest.mark.parametrize("release", ["0.8.0", "0.9"])
def test_a_release_without_api_versions_closes_the_connection(
    release: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [sys.executable, "-c", OLD_CLIENT, "{bootstrap}", METADATA, API_VERSIONS]
    chosen = ("ApiVersions refused", "connection lost at Metadata")
    main(["conform", "client", "--json", "--target", release,
          *(word for name in chosen for word in ("--situation", name)), "--", *words])  # fmt: skip
    said = capfd.readouterr()
    report = json.loads(said.out)
    assert said.err == ""
    first, refused, lost = report["situations"]
    assert (first["requests"], first["command"]) == (2, "status 7: 18 0")
    assert refused["why_not"] == f"Kafka {release} does not have ApiVersions"
    assert lost["result"] == "failed"
    assert {row["api"]: row["exercised"] for row in report["versions"]} == {
        "Metadata": True, "ApiVersions": False,
    }  # fmt: skip


def test_a_client_that_only_asks_for_versions_is_no_client_that_stops(
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = [sys.executable, "-c", OLD_CLIENT, "{bootstrap}", API_VERSIONS]
    code, report = conform(capfd, words, situations=("responses in pieces",))
    assert code == 0, report["check"]["findings"]
    assert report["situations"][1]["why_not"] == "the client sends no Produce, Fetch or Metadata"


@pytest.mark.parametrize("more", [[], ["--write-baseline", "known.json"]])
def test_a_fault_of_the_cluster_is_no_success(
    more: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def faulty(*_: object) -> None:
        raise KeyError(18)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(scripted_cluster.HANDLERS, int(METADATA), faulty)
    words = [sys.executable, "-c", OLD_CLIENT, "{bootstrap}", API_VERSIONS, METADATA]
    assert main(["conform", "client", *more, "--", *words]) == UNREADABLE
    said = capfd.readouterr()
    assert "Traceback" not in said.err
    assert "the run ended early: kdissect failed in the situation nothing: KeyError: 18" in said.err


def test_known_findings_fail_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    baseline = str(tmp_path / "known.json")
    line = ["conform", "client", "--timeout", "3s", "--situation", "no leader"]
    words = ["--", *command("producer", "no patience")]
    assert main([*line, *words]) == FINDINGS
    assert main([*line, "--write-baseline", baseline, *words]) == 0
    assert main([*line, "--baseline", baseline, *words]) == 0
