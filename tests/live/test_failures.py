"""Everything that can end a live capture: nothing captured is lost, and one line says what happened."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.live.capturing import END_SECONDS, Broker, Live, inspected, needs_capture
from tests.live.network import HOST, Lab, lab
from tests.support.console import CHECKOUT, command

SOURCES = ("libpcap", "dumpcap")
TRACE = re.compile(r"Traceback|Error\b.*\bline \d+")
NOBODY = 65534


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    needs_capture()
    found = Broker()
    yield found
    found.close()


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    needs_capture()
    if request.param == "dumpcap" and shutil.which("dumpcap") is None:
        pytest.skip("dumpcap is not installed")
    return str(request.param)


def on_loopback(broker: Broker, *arguments: object) -> Live:
    return Live("-i", "lo", "-f", f"tcp port {broker.port}", "--format", "jsonl", *arguments)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupted(broker: Broker, source: str, number: int, tmp_path: Path) -> None:
    """The end of a capture is no failure: all that came is printed, the file is whole, the exit code is 0."""
    file = tmp_path / "live.pcapng"
    live = on_loopback(broker, "--source", source, "-w", file)
    expected = broker.converse(20)
    live.wait_for(expected - 5)
    live.signal(number)
    ran = live.end()
    assert (ran.code, TRACE.search(ran.err)) == (0, None)
    assert re.search(
        rf"^kdissect: \d+ packets? captured \(.*\), 0 dropped; written to {file}$", ran.err, re.MULTILINE
    )
    again = inspected(file)
    assert (again.code, again.err) == (0, "")
    assert ran.out == again.out
    assert len(live.lines) == expected


def test_interrupted_in_the_middle_of_traffic(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "live.pcapng"
    live = on_loopback(broker, "-w", file)
    peer = str(CHECKOUT / "benchmarks" / "kafka_peers.py")
    asking = [sys.executable, peer, "client", "127.0.0.1", str(broker.port), "--requests", "5000"]
    client = subprocess.Popen(asking, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        live.wait_for(100)
        live.signal(signal.SIGINT)
        ran = live.end()
    finally:
        client.kill()
        client.wait()
    assert (ran.code, TRACE.search(ran.err)) == (0, None)
    assert ran.out == inspected(file).out


def test_killed(broker: Broker, source: str, tmp_path: Path) -> None:
    """Nobody can clean up after SIGKILL: the file is a valid beginning, and nobody goes on writing it."""
    file = tmp_path / "live.pcapng"
    live = on_loopback(broker, "--source", source, "-w", file)
    expected = broker.converse(20)
    live.wait_for(expected - 5)
    live.signal(signal.SIGKILL)
    ran = inspected(file)
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) >= expected - 5
    if source == "libpcap":  # our own child knows that it is alone
        until(lambda: not writers_of(file), "the end of who captured")
    for pid in writers_of(file):  # dumpcap goes on (docs/live.md)
        os.kill(pid, signal.SIGTERM)
    assert live.end().code == -signal.SIGKILL


def writers_of(file: Path) -> list[int]:
    """Return processes whose command line names a file."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(file).encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    for _ in range(END_SECONDS * 10):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


def test_disk_full(broker: Broker, source: str, small_disk: Path) -> None:
    """What found room is whole blocks; it is analysed to its end, and said why nothing more came."""
    file = small_disk / "live.pcapng"
    live = on_loopback(broker, "--source", source, "-w", file)
    broker.converse(40, 50_000)
    ran = live.end()
    assert (ran.code, TRACE.search(ran.err)) == (3, None)
    assert len(re.findall("[nN]o space left on", ran.err)) == 1
    again = inspected(file)
    # dumpcap leaves the packet for which there was no room in the file, as far as it got.
    is_cut = source == "dumpcap" and "ends inside a block" in again.err
    assert (again.code, again.err) == (0, "") or (is_cut and again.code == 3)
    assert ran.out == again.out
    assert len(live.lines) >= 10
    assert file.stat().st_size > 900_000


@pytest.fixture
def network() -> Iterator[Lab]:
    with lab("kdf") as built:
        built.broker("host", HOST)
        yield built


def test_interface_removed(network: Lab, source: str, tmp_path: Path) -> None:
    file = tmp_path / "live.pcapng"
    inside = network.inside("host", ())
    live = Live("-i", "veth-left", "--source", source, "--format", "jsonl", "-w", file, before=inside)
    expected = len(network.client("left", HOST, 20, 1000))
    live.wait_for(expected)  # what the kernel still gathers goes with the interface
    network.run("host", "ip", "link", "delete", "veth-left")
    ran = live.end()
    assert (ran.code, TRACE.search(ran.err)) == (3, None)
    assert re.search(
        r"veth-left|interface|device|network", ran.err.partition("capturing on")[2].partition("\n")[2]
    )
    assert ran.out == inspected(file).out
    assert len(live.lines) == expected


def test_the_program_that_captures_is_killed(broker: Broker, source: str, tmp_path: Path) -> None:
    file = tmp_path / "live.pcapng"
    live = on_loopback(broker, "--source", source, "-w", file)
    expected = broker.converse(20)
    live.wait_for(expected)
    for child in Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)
    ran = live.end()
    assert (ran.code, TRACE.search(ran.err)) == (3, None)
    assert source in ran.err.partition("capturing on")[2].partition("\n")[2]
    assert ran.out == inspected(file).out
    assert len(live.lines) == expected


@pytest.mark.parametrize(
    "options", [("-i", "lo"), ("-i", "any"), ("-i", "lo", "--source", "dumpcap")], ids=" ".join
)
def test_permission_missing(options: tuple[str, ...]) -> None:
    """A user without CAP_NET_RAW gets one line: what is missing, how to grant it, what to do without."""
    needs_capture()
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) takes the capability away; it is not installed")
    # Out of the bounding set no file capability of dumpcap brings it back.
    without = ["setpriv", "--bounding-set", "-net_raw,-net_admin", "--inh-caps", "-all"]
    nobody = [*without, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    can_run = subprocess.run([*nobody, *command("--version")], capture_output=True, cwd=CHECKOUT, check=False)
    before = nobody if can_run.returncode == 0 else without
    ran = subprocess.run(
        [*before, *command("live", *options)],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        timeout=END_SECONDS,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (3, "")
    assert len(ran.stderr.splitlines()) == 1
    assert "CAP_NET_RAW" in ran.stderr
    assert "setcap" in ran.stderr


@pytest.mark.exhaustive
def test_closed_pipe(broker: Broker, source: str, tmp_path: Path) -> None:
    """`live | head`: silent, exit 0, and the file is whole."""
    file = tmp_path / "live.pcapng"
    live = command("live", "-i", "lo", "--source", source, "-f", f"'tcp port {broker.port}'", "-w", file)
    shell = subprocess.Popen(
        ["bash", "-c", f"{' '.join(live)} --format jsonl | head -n 5; exit ${{PIPESTATUS[0]}}"],
        cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert shell.stderr is not None
    said = shell.stderr.readline()
    assert "capturing on" in said
    asked = broker.converse(30)
    while shell.poll() is None and asked < 1000:  # a pipe's reader is missed when something is written
        asked += broker.converse(30)
    out, err = shell.communicate(timeout=END_SECONDS)
    assert (shell.returncode, len(out.splitlines()), TRACE.search(err)) == (0, 5, None)
    again = inspected(file)
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith(out)
