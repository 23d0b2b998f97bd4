"""What cannot be tapped is told in one line, with exit code 3, and is left as it was."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from kdissect.tap import TapError
from kdissect.tap.attachment import load_agent
from kdissect.tap.jvms import refuse_unfit
from kdissect.tap.tap_source import process_of
from tests.support.console import CHECKOUT, Ran, command, run
from tests.tap import kafka


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process, which must live until the block ends."""
    started = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield started
        assert started.poll() is None, "it did not survive"
    finally:
        started.kill()
        started.communicate()


@contextmanager
def idle(tmp_path: Path, *options: str, under: Sequence[str] = ()) -> Iterator[int]:
    """Run a JVM without Kafka, under another program if one is given."""
    kafka.needs_java()
    source = kafka.JAVA_DIR / "Idle.java"
    subprocess.run(["javac", "-d", str(tmp_path), str(source)], check=True)
    with process(*under, "java", "-Xmx32m", *options, "-cp", str(tmp_path), "Idle") as started:
        assert started.stdout is not None and started.stdout.readline() == b"idle\n"
        yield started.pid


def refused(ran: Ran, *words: str) -> None:
    """One line that says these words, and exit code 3."""
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1), ran
    assert ran.err.startswith("kdissect: ")
    for word in words:
        assert word in ran.err


def test_no_such_process(tmp_path: Path) -> None:
    refused(run("tap", 0x3FFFFFFF, "-w", tmp_path / "x"), "there is no process")
    assert not (tmp_path / "x").exists()


def test_what_stood_in_the_file_stays_where_nothing_comes(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.write_bytes(b"kept")
    refused(run("tap", 0x3FFFFFFF, "-w", target))
    assert target.read_bytes() == b"kept"


def test_no_jvm(tmp_path: Path) -> None:
    with process("sleep", "600") as other:
        refused(run("tap", other.pid, "-w", tmp_path / "x"), "(sleep) is no HotSpot JVM")
        refused(run("tap", other.pid, "--detach"), "no HotSpot JVM")
        refused(run("live", "-i", f"tap:{other.pid}"), "no HotSpot JVM")


def test_a_jvm_without_kafka(tmp_path: Path) -> None:
    with idle(tmp_path) as pid:
        refused(run("tap", pid, "-w", tmp_path / "x"), "has not loaded Kafka", "--engines")
        refused(run("tap", pid, "--engines", "-w", tmp_path / "x"), "neither Kafka's network classes nor")
        refused(run("tap", pid), "has not loaded Kafka")
        assert kafka.threads_of(pid) == []
        assert run("tap", pid, "--detach").code == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("option", ["-XX:+DisableAttachMechanism", "-XX:-EnableDynamicAgentLoading"])
def test_a_jvm_that_takes_no_agent(tmp_path: Path, option: str) -> None:
    with idle(tmp_path, option) as pid:
        refused(run("tap", pid, "-w", tmp_path / "x"), option, "-javaagent")


@pytest.mark.exhaustive
def test_a_jvm_that_sigquit_would_end(tmp_path: Path) -> None:
    with idle(tmp_path, "-Xrs") as pid:
        refused(run("tap", pid, "-w", tmp_path / "x"), "-Xrs")


@pytest.mark.exhaustive
def test_a_jvm_in_another_network(tmp_path: Path) -> None:
    """Its loopback is another: the agent could not come."""
    kafka.needs_java()
    if subprocess.run(["unshare", "--net", "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no network of its own can be made here")
    with idle(tmp_path, under=["unshare", "--net"]) as pid:
        refused(run("tap", pid, "-w", tmp_path / "x"), "has a network of its own", "--print-agent")


def test_a_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(TapError, match=r"belongs to .*: run kdissect as that user"):
        refuse_unfit(os.getpid())


@pytest.mark.exhaustive
def test_a_jar_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "no.jar").write_bytes(b"no")
    with idle(tmp_path) as pid, pytest.raises(TapError, match="cannot read the agent's jar"):
        load_agent(pid, str(tmp_path / "no.jar"), "stop")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    refused(run("tap", "-w", tmp_path / "x", "--", tmp_path / "none"), "none: No such file or directory")


def test_a_program_that_ends_without_an_agent(tmp_path: Path) -> None:
    refused(run("tap", "-w", tmp_path / "x", "--", "true"), "ended with 0, and no agent came")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["1", "-w", "x", "--", "java"],
        ["--", "java"],
        ["-w", "x", "-Y", "api == Fetch", "--", "java"],
        ["1", "-Y", "api = Fetch"],
        ["1", "-f", "tcp port what"],
        ["1", "-w", "x", "-f", "tcp port what"],
        ["--detach"],
        ["--detach", "--", "java"],
        ["--list", "--detach"],
    ],
)
def test_wrong_usage(words: Sequence[str]) -> None:
    ran = run("tap", *words)
    assert ran.code == 2 and not (CHECKOUT / "x").exists()


def test_the_agents_path() -> None:
    ran = run("tap", "--print-agent")
    assert ran.code == 0 and Path(ran.out.strip()).is_file()


def test_what_follows_a_process_id() -> None:
    assert process_of("tap:1") == (1, False)
    assert process_of("tap:1,engines") == (1, True)
    with pytest.raises(TapError, match="there may be ,engines alone"):
        process_of("tap:1,files")


@pytest.mark.parametrize("name", ["tap:", "tap:x", "tap:-1", "tap:0", "tap:²", "tap:99999999999999999999"])
def test_interfaces_that_name_no_process(name: str) -> None:
    with pytest.raises(TapError, match="requires a process id"):
        process_of(name)


def test_the_command_is_found() -> None:
    done = subprocess.run(command("tap", "--help"), capture_output=True, text=True, check=True, cwd=CHECKOUT)
    assert "tap:PID" in done.stdout


def test_elsewhere_than_on_linux_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdissect.tap.jvms.system", lambda: "Windows")
    with pytest.raises(TapError, match="needs Linux"):
        refuse_unfit(os.getpid())


def test_live_capture_without_a_tap_imports_nothing_of_it() -> None:
    code = "import sys, kdissect.capture.live.captures; sys.exit('kdissect.tap.tap_source' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=False).returncode == 0
