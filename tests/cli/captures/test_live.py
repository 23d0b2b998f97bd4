"""`kdissect live` and `-i`, on packets of the loopback interface; skipped where they may not be captured."""

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest

from kdissect.capture.files import open_captures
from kdissect.cli import main
from tests.support.console import CAPTURES, run
from tests.support.live import SOURCES, LiveRun, free_port, why_not, written
from tests.support.replay import Talk, conversations, replay

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
EXCHANGES = 180
STANDSTILL = 10  # replays, 5580 packets on each interface


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return usable(name)


def usable(source: str) -> str:
    why = why_not(source)
    if why:
        pytest.skip(f"{source} does not capture here: {why}")
    return source


def listening(port: int, *arguments: object, command: str = "live") -> LiveRun:
    started = LiveRun(command, "-i", "lo", "-f", f"tcp port {port}", *arguments)
    assert started.said.startswith("kdissect: capturing on lo with "), started.said
    return started


@pytest.mark.exhaustive
def test_live_prints_what_inspect_prints_afterwards(source: str, port: int, tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    live = listening(port, "--source", source, "-w", path, "--format", "jsonl")
    assert sum(replay(GROUPS, port)) == 2 * EXCHANGES
    live.lines(EXCHANGES)
    ran = live.end()
    assert ran.code == 0
    assert ran.out == run("inspect", path, "--format", "jsonl").out
    assert f"with {source}, filter tcp port {port}" in ran.err
    assert " 0 dropped; " in ran.err
    assert written(ran, path)
    head = path.read_bytes()[:1000]
    assert b"kdissect" in head
    assert f"capture filter: tcp port {port}; source: {source}".encode() in head


@pytest.mark.parametrize(
    "how", [("--format", "tsv"), ("--format", "csv", "--bodies"), ("--format", "tree"), ("-e", "api,state")]
)
def test_in_every_format(how: tuple[str, ...], port: int, tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    live = listening(port, "--source", usable("libpcap"), "-w", path, *how)
    list(replay(GROUPS, port))
    live.lines(EXCHANGES)
    ran = live.end(signal.SIGTERM)
    assert ran.code == 0
    assert ran.out == run("inspect", path, *how).out


def test_filters_and_limit(port: int) -> None:
    live = listening(
        port, "--source", usable("libpcap"), "-Y", "api == ApiVersions", "--limit", "3", "-e", "api"
    )
    list(replay(GROUPS, port))
    ran = live.wait()
    assert (ran.code, ran.out) == (0, "api\n" + "ApiVersions\n" * 3)


def test_the_summary_counts_what_is_in_the_file(source: str, port: int, tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    live = listening(port, "--source", source, "-w", path, "--limit", "1")
    list(replay(GROUPS, port))
    ran = live.wait()
    packets = len(list(open_captures([path]).packets()))
    assert f"kdissect: {packets} packets captured" in ran.err


def test_a_connection_that_was_open_before(port: int) -> None:
    usable("libpcap")
    frames = max(conversations(GROUPS), key=len)
    half = len(frames) // 4 * 2
    talk = Talk(port, frames)
    talk.say(0, half)
    live = listening(port, "--source", "libpcap", "--format", "jsonl")
    talk.say(half)
    talk.close()
    requests = [data for by_client, data in frames[half:] if by_client]
    rows = [json.loads(line) for line in live.lines(len(requests))]
    assert live.end().code == 0
    assert [(row["api_key"], row["api_version"], row["correlation_id"]) for row in rows] == [
        (
            int.from_bytes(data[4:6], "big"),
            int.from_bytes(data[6:8], "big"),
            int.from_bytes(data[8:12], "big"),
        )
        for data in requests
    ]
    assert {row["broker"] for row in rows} == {f"127.0.0.1:{port}"}
    assert {row["state"] for row in rows} == {"complete"}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "command",
    [
        "stats",
        "topics",
        "groups",
        "producers",
        "connections",
        "fetch-sessions",
        "logins",
        "changes",
        "access",
        "offsets",
    ],
)
def test_other_commands_tell_of_the_capture_what_they_tell_of_its_file(
    command: str, port: int, tmp_path: Path
) -> None:
    path = tmp_path / "f.pcapng"
    how = ("--format", "jsonl" if command == "connections" else "json")
    live = listening(port, "--source", usable("libpcap"), "-w", path, *how, command=command)
    list(replay(GROUPS, port))
    ran = live.end()
    assert ran.code == 0
    assert ran.out == run(command, path, *how).out
    assert len(ran.out) > 20


def test_check_judges_live(port: int, tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    live = listening(port, "--source", usable("libpcap"), "-w", path, "--format", "json", command="check")
    list(replay(CAPTURES / "tansu_rdk216_txn.pcap", port))
    ran = live.end()
    later = run("check", path, "--format", "json")
    assert ran.code == later.code
    found, expected = json.loads(ran.out), json.loads(later.out)
    assert found["findings"] == expected["findings"]
    assert found["findings"]


def test_info_says_what_was_captured(port: int) -> None:
    live = listening(port, "--source", usable("libpcap"), "--format", "json", command="info")
    list(replay(GROUPS, port))
    facts = json.loads(live.end().out)
    assert facts["exchanges"]["total"] == EXCHANGES
    assert facts["files"][0]["path"] == "lo"


def test_a_closed_pipe_ends_it(port: int, tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    live = listening(port, "--source", usable("libpcap"), "-w", path, "--format", "tsv", "--no-header")
    list(replay(GROUPS, port))
    live.lines(EXCHANGES)
    assert live.process.stdout is not None
    live.process.stdout.close()
    live.process.stdout = None
    list(replay(GROUPS, port))
    code = live.process.wait()
    live.wait()
    assert code == 0
    assert run("inspect", path, "--limit", "1").code == 0


def test_a_duration_ends_it(port: int) -> None:
    ran = listening(port, "--source", usable("libpcap"), "--duration", "100ms").wait()
    assert ran.code == 0
    assert "0 packets captured" in ran.err


def test_any_and_several_interfaces(source: str, port: int) -> None:
    if source == "scapy":
        pytest.skip("scapy's sockets are of one interface by name")
    if source != "tcpdump":
        two = LiveRun(
            "live", "-i", "lo", "-i", "any", "-f", f"tcp port {port}", "--source", source, "-e", "api"
        )
        assert "capturing on lo, any" in two.said
        list(replay(GROUPS, port))
        two.lines(EXCHANGES + 1)
        assert len(two.end().out.splitlines()) == EXCHANGES + 1  # each packet came twice
    alone = LiveRun("live", "-i", "any", "-f", f"tcp port {port}", "--source", source, "-e", "api")
    list(replay(GROUPS, port))
    alone.lines(EXCHANGES + 1)
    assert len(alone.end().out.splitlines()) == EXCHANGES + 1


@pytest.mark.sampled(8)
@pytest.mark.parametrize("interfaces", [("lo",), ("any",), ("lo", "any")], ids=",".join)
def test_whoever_captures_may_stand_still(
    source: str, interfaces: tuple[str, ...], port: int, tmp_path: Path
) -> None:
    """As where other processes have the CPU: what comes meanwhile waits in the kernel's buffer."""
    if source == "tcpdump" and len(interfaces) > 1:
        pytest.skip("tcpdump captures on one interface")
    if source == "scapy" and "any" in interfaces:
        pytest.skip("scapy's sockets are of one interface by name")
    named = [word for name in interfaces for word in ("-i", name)]
    live = LiveRun("live", *named, "-f", f"tcp port {port}", "--source", source, "-e", "api", "--no-header")
    with live.captor_stopped():
        for _ in range(STANDSTILL):
            list(replay(GROUPS, port))
    live.lines(STANDSTILL * EXCHANGES)
    ran = live.end()
    assert len(ran.out.splitlines()) == STANDSTILL * EXCHANGES
    assert " 0 dropped" in ran.err


@pytest.mark.sampled(8)
@pytest.mark.parametrize("keeps", [False, True], ids=["printed", "kept"])
def test_nothing_before_the_end_is_lost(source: str, keeps: bool, port: int, tmp_path: Path) -> None:
    """Also what the kernel still gathers for whoever captures, which some programs forget at a signal."""
    kept = ("-w", tmp_path / "f.pcapng") if keeps else ()
    live = listening(port, "--source", source, "-e", "api", "--no-header", *kept)
    list(replay(GROUPS, port))
    assert len(live.end().out.splitlines()) == EXCHANGES


def test_a_ring_of_files(port: int, tmp_path: Path) -> None:
    live = listening(
        port, "--source", usable("libpcap"), "-w", tmp_path / "t.pcapng", "--rotate-size", "20kB",
        "--format", "jsonl",
    )  # fmt: skip
    list(replay(GROUPS, port))
    ran = live.end()
    assert ran.code == 0
    assert len(list(tmp_path.iterdir())) > 3
    assert ran.out == run("inspect", *sorted(tmp_path.iterdir()), "--format", "jsonl").out


def test_an_interface_that_is_not_there(source: str) -> None:
    ran = run("live", "-i", "nosuch0", "--source", source)
    assert ran.code == 3
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1
    assert "nosuch0" in ran.err


def test_without_the_privilege() -> None:
    usable("libpcap")
    if sys.platform != "linux" or shutil.which("setpriv") is None:
        pytest.skip("setpriv of util-linux takes the privilege away")
    live = LiveRun(
        "live", "-i", "lo", prefix=("setpriv", "--bounding-set=-net_raw,-net_admin", "--inh-caps=-all")
    )
    ran = live.wait()
    assert ran.code == 3
    assert ran.out == ""
    assert "CAP_NET_RAW is missing" in ran.err
    assert "sudo setcap" in ran.err
    assert "sudo tcpdump -i lo -U -w - | kdissect live -" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_any_by_scapy_is_refused() -> None:
    usable("scapy")
    ran = run("live", "-i", "any", "--source", "scapy")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "kdissect: scapy's source captures on interfaces by name, not on any\n"


def test_the_list_of_interfaces(capfd: pytest.CaptureFixture[str]) -> None:
    usable("libpcap")
    assert main(["live", "-D"]) == 0
    assert "lo " in capfd.readouterr().out
