"""`kdissect record` next to traffic of this machine: interfaces that come back, full disks, kills, marks."""

import json
import os
import pwd
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.capture.files import open_captures
from tests.live.capturing import END_SECONDS, PEERS, Broker, Live, needs_capture
from tests.live.network import HOST, Lab, lab
from tests.support.console import CHECKOUT, run

TIMES = ("--before", "30s", "--after", "1s")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    needs_capture()
    found = Broker()
    yield found
    found.close()


def recorder(broker: Broker, folder: Path, *arguments: object) -> Live:
    return Live("-i", "lo", "-f", f"tcp port {broker.port}", "-d", folder, *TIMES, *arguments, name="record")


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait until something is true, and return it."""
    end = time.monotonic() + END_SECONDS
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(what)


def incidents(folder: Path) -> list[dict[str, Any]]:
    found = sorted(folder.glob("incidents/*/incident.json"))
    rows = [json.loads(path.read_text()) for path in found]
    for path, row in zip(found, rows, strict=True):
        assert all((path.parent / name).stat().st_size for name in row["files"])
    return rows


def packets_in(path: Path) -> int:
    captures = open_captures([path])
    found = sum(map(len, captures.batches()))
    assert captures.errors == []
    return found


def test_conditions_marks_and_signals_make_incidents(broker: Broker, tmp_path: Path) -> None:
    live = recorder(broker, tmp_path, "--when", "api == Produce, 5 in 1m")
    broker.converse(20)
    until(lambda: incidents(tmp_path), "an incident")
    assert run("record", "mark", tmp_path, "deployment").code == 0
    until(lambda: len(incidents(tmp_path)) == 2, "a mark")
    live.signal(signal.SIGUSR1)
    until(lambda: len(incidents(tmp_path)) == 3, "a signal")
    live.signal(signal.SIGINT)
    assert live.end().code == 0
    kinds = [problem["kind"] for row in incidents(tmp_path) for problem in row["problems"]]
    assert kinds == ["filter", "mark", "mark"]
    assert {row["problems"][0]["sentence"] for row in incidents(tmp_path)} >= {"deployment", "SIGUSR1"}
    assert all(row["packets"] for row in incidents(tmp_path))


def test_a_killed_recorder_loses_nothing(broker: Broker, tmp_path: Path) -> None:
    live = recorder(broker, tmp_path, "--when", "api == Produce, 5 in 1m", "--after", "20s")
    broker.converse(20)
    live.word(r"incident (\S+):")
    live.kill()
    assert incidents(tmp_path) == []
    again = recorder(broker, tmp_path, "--when", "api == Produce, 5 in 1m", "--after", "20s")
    again.signal(signal.SIGINT)
    again.end()
    (row,) = incidents(tmp_path)
    requests = sum(produced(tmp_path / "incidents" / row["id"] / "capture.pcapng"))
    assert requests == 20


@pytest.mark.parametrize(("command", "code"), [("true", 0), ("exit 7", 7), ("converse", 1)])
def test_a_command_fails_if_there_is_an_incident(
    broker: Broker, tmp_path: Path, command: str, code: int
) -> None:
    if command == "converse":
        command = f"{sys.executable} {PEERS} client 127.0.0.1 {broker.port} --requests 20 --size 100"
    ran = run(
        "record", "-i", "lo", "-f", f"tcp port {broker.port}", "-d", tmp_path, *TIMES,
        "--when", "api == Produce, 5 in 1m", "--", "sh", "-c", command,
    )  # fmt: skip
    assert ran.code == code
    assert ("is complete: " in ran.err) == (code == 1)
    assert len(incidents(tmp_path)) == (code == 1)


def test_files_of_a_command_have_the_modes_that_they_have_without_the_recorder(tmp_path: Path) -> None:
    subprocess.run(["touch", tmp_path / "without"], check=True)
    command = ("--", "touch", tmp_path / "with")
    nothing = ("-i", "lo", "-f", "tcp port 1")  # other tests talk on this interface
    assert run("record", *nothing, "-d", tmp_path / "kept", *TIMES, *command).code == 0
    assert (tmp_path / "with").stat().st_mode == (tmp_path / "without").stat().st_mode


@pytest.mark.parametrize("options", [(), ("--snap", "headers")])
def test_root_is_given_up_once_the_capture_is_open(
    broker: Broker, tmp_path: Path, options: tuple[str, ...]
) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # those of tests are for root alone
        folder = Path(name) / "recorder"
        live = Live(
            "-i", "lo", "-f", f"tcp port {broker.port}", "-d", folder, *TIMES, "--user", "nobody",
            "--when", "api == Produce, 5 in 1m", *options, name="record", before=python_of_root(tmp_path),
        )  # fmt: skip
        pid = live.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert {owner(one) for one in (pid, *children)} == {nobody}, live.said
        broker.converse(20)
        until(lambda: incidents(folder), "an incident")
        live.signal(signal.SIGINT)
        ran = live.end()
        assert (ran.code, "cannot be written" in ran.err) == (0, False)
        assert {path.stat().st_uid for path in (folder, *folder.rglob("*"))} == {nobody}


def python_of_root(folder: Path) -> tuple[str, ...]:
    """Return words before a command that let Python and kdissect lie in a folder that root alone reads."""
    folder.chmod(0o700)
    (folder / "lib").symlink_to(Path(os.__file__).parents[1])
    paths = [str(CHECKOUT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for number, path in enumerate(paths):
        (folder / str(number)).symlink_to(path)
    packages = os.pathsep.join(str(folder / str(number)) for number in range(len(paths)))
    return "env", "PYTHONSAFEPATH=1", f"PYTHONHOME={folder}", f"PYTHONPATH={packages}"


def owner(pid: int | str) -> int:
    (line,) = re.findall(r"^Uid:\s+(\d+)\s", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(line)


def produced(path: Path) -> Iterator[int]:
    """Yield 1 for each Produce exchange of a capture."""
    ran = run("inspect", path, "-Y", "api == Produce", "--format", "jsonl")
    yield from (1 for _ in ran.out.splitlines())


@pytest.fixture
def network() -> Iterator[Lab]:
    with lab("kdr") as built:
        built.broker("host", HOST)
        yield built


def test_an_interface_that_comes_back_is_captured_again(network: Lab, tmp_path: Path) -> None:
    add = ("ip", "link", "add", "veth-x", "type", "bridge")
    up = ("ip", "link", "set", "veth-x", "up")
    network.run("host", *add)
    network.run("host", *up)
    live = Live("-i", "veth-x", "-d", tmp_path, before=network.inside("host", ()), name="record")
    network.run("host", "ip", "link", "delete", "veth-x")
    live.word("(the capture is tried again)")
    network.run("host", *add)
    network.run("host", *up)
    live.word("(the capture goes on)")
    assert run("record", "mark", tmp_path).code == 0
    live.word(r"incident (\S+):")
    live.signal(signal.SIGINT)
    ran = live.end()
    assert (ran.code, "Traceback" in ran.err) == (0, False)


def test_a_full_disk_costs_the_oldest_packets(broker: Broker, small_disk: Path) -> None:
    live = recorder(broker, small_disk, "--keep", "8MiB")
    broker.converse(60, 50_000)
    said = live.word(r"(the disk is full: .*)")
    broker.converse(3)
    live.signal(signal.SIGINT)
    ran = live.end()
    assert (ran.code, "Traceback" in ran.err) == (0, False)
    assert "oldest packets of the ring are removed" in said
    files = sorted(small_disk.glob("ring/*"))
    assert sum(packets_in(path) for path in files)
    assert sum(1 for path in files[-1:] for _ in produced(path)) or packets_in(files[-1])
