"""Attaching in folders that other users can write: kdissect refuses planted files and leaves them alone.

No JVM is needed: a Python process stands in for one.
"""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kdissect.capture.live import captures as live_captures
from kdissect.tap import TapError, attachment, shared_folders, tap_source
from kdissect.tap.attachment import load_agent
from kdissect.tap.jvms import list_jvms
from tests.support.console import Ran, command, run
from tests.tap.fake_jvm import fake_jvm, socket_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="taps need Linux")

LOADED = r"0\nreturn code: 0\n"
NOT_ENABLED = (
    r"0\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.\n"
)
OTHER = 12345  # a user id, of nobody here
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make files of other users"
)


def link(path: Path) -> None:
    """Make a symbolic link to a file that must not change."""
    path.symlink_to(victim(path))


def hard_link(path: Path) -> None:
    """Make a second name of a file that must not change."""
    path.hardlink_to(victim(path))


def victim(path: Path) -> Path:
    """Return a file that a link names."""
    target = path.with_name(f"{path.name}.victim")
    target.write_bytes(b"kept")
    return target


def of_another_user(path: Path) -> None:
    """Make a file of another user."""
    path.touch()
    os.chown(path, OTHER, OTHER)


PLANTED = [
    pytest.param(os.mkfifo, "is a named pipe", id="pipe"),
    pytest.param(link, "is a symbolic link", id="link"),
    pytest.param(hard_link, "has a hard link", id="hard link"),
    pytest.param(os.mkdir, "is a folder", id="folder"),
    pytest.param(of_another_user, "belongs to 12345", id="other user", marks=needs_root),
]


def refused(ran: Ran, *words: str) -> None:
    """One line with these words, and exit code 3."""
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1), ran
    for word in words:
        assert word in ran.err


def tapped(pid: int, target: Path) -> Ran:
    """`kdissect tap`, in a process that a hang cannot outlive."""
    done = subprocess.run(
        command("tap", pid, "-w", target), capture_output=True, text=True, timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def inode(path: Path) -> tuple[int, int, int, int]:
    """Return what of a file must not change."""
    what = path.lstat()
    return what.st_ino, what.st_uid, what.st_mode, what.st_size


@pytest.mark.parametrize(("plant", "why"), PLANTED)
def test_what_is_in_the_place_of_the_attach_file(
    tmp_path: Path, plant: Callable[[Path], None], why: str
) -> None:
    with fake_jvm(tmp_path, LOADED) as jvm:
        path = tmp_path / f".attach_pid{jvm.pid}"
        plant(path)
        before = inode(path)
        refused(tapped(jvm.pid, tmp_path / "x"), f".attach_pid{jvm.pid} in its folder {why}", "remove it")
        assert inode(path) == before
        assert not socket_of(jvm.pid).exists(), "the signal was sent"
        for target in tmp_path.glob("*.victim"):
            assert target.read_bytes() == b"kept" and target.stat().st_uid == os.geteuid()


@pytest.mark.parametrize(("plant", "why"), [*PLANTED[:2], *PLANTED[3:4]])
def test_what_is_in_the_place_of_the_socket(tmp_path: Path, plant: Callable[[Path], None], why: str) -> None:
    with fake_jvm(tmp_path, LOADED) as jvm:
        plant(socket_of(jvm.pid))
        try:
            refused(tapped(jvm.pid, tmp_path / "x"), f".java_pid{jvm.pid} in /tmp {why}", "remove it")
            assert not (tmp_path / f".attach_pid{jvm.pid}").exists()
        finally:
            socket_of(jvm.pid).with_name(f".java_pid{jvm.pid}.victim").unlink(missing_ok=True)


def test_a_socket_of_another_process(tmp_path: Path) -> None:
    with fake_jvm(tmp_path, LOADED) as jvm, socket.socket(socket.AF_UNIX) as other:
        other.bind(str(socket_of(jvm.pid)))
        other.listen()
        refused(tapped(jvm.pid, tmp_path / "x"), f"is a socket of process {os.getpid()}")


@needs_root
def test_a_socket_of_another_user(tmp_path: Path) -> None:
    with fake_jvm(tmp_path, LOADED) as jvm, socket.socket(socket.AF_UNIX) as other:
        other.bind(str(socket_of(jvm.pid)))
        os.chown(socket_of(jvm.pid), OTHER, OTHER)
        refused(tapped(jvm.pid, tmp_path / "x"), "belongs to 12345")


def test_a_socket_that_an_earlier_jvm_left(tmp_path: Path) -> None:
    with fake_jvm(tmp_path, LOADED) as jvm:
        with socket.socket(socket.AF_UNIX) as earlier:
            earlier.bind(str(socket_of(jvm.pid)))
        load_agent(jvm.pid, "agent.jar", "stop")
        load_agent(jvm.pid, "agent.jar", "stop")
        assert not (tmp_path / f".attach_pid{jvm.pid}").exists()


def test_an_attach_file_that_another_attachment_left_is_used_and_stays(tmp_path: Path) -> None:
    with fake_jvm(tmp_path, LOADED) as jvm:
        left = tmp_path / f".attach_pid{jvm.pid}"
        left.touch(0o640)
        before = inode(left)
        load_agent(jvm.pid, "agent.jar", "stop")
        assert inode(left) == before


def test_a_jvm_that_opens_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_SOCKET_S", 0.3)
    with fake_jvm(tmp_path) as jvm:
        with pytest.raises(TapError, match="opened no socket for attachment"):
            load_agent(jvm.pid, "agent.jar", "stop")
        assert jvm.stdout is not None and jvm.stdout.readline() == "quit True\n"
        assert not (tmp_path / f".attach_pid{jvm.pid}").exists()


def test_a_response_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is of the whole response, not of each piece."""
    monkeypatch.setattr(attachment, "_ANSWER_S", 0.5)
    ours, theirs = socket.socketpair()
    dripping = subprocess.Popen(
        [sys.executable, "-c", f"import socket, time; s = socket.socket(fileno={theirs.fileno()})\n"
         "while True: s.send(b'0'); time.sleep(.05)"],
        pass_fds=[theirs.fileno()],
    )  # fmt: skip
    with ours, theirs, pytest.raises(TimeoutError):
        try:
            attachment._asked(ours, ["load"])
        finally:
            dripping.kill()
            dripping.wait()


def test_a_greeting_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody on this machine can connect to the port that waits for the agent."""
    monkeypatch.setattr(tap_source, "_GREETING_S", 0.5)
    with tap_source._Meeting(False) as meeting:
        port = meeting.options.partition("=")[2].partition(",")[0]
        dripping = subprocess.Popen(
            [sys.executable, "-c", "import socket, sys, time\n"
             "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
             "while True: s.send(b'x'); time.sleep(.05)", port],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with pytest.raises(TapError, match="did not come"):
                meeting.wait(None, 2)
        finally:
            dripping.kill()
            dripping.wait()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (NOT_ENABLED, "runs with -XX:-EnableDynamicAgentLoading: start it without that option"),
        (r"0\nreturn code: 100\n", "cannot read the agent's jar"),
        (r"0\nanother reason\n", "refused the agent: another reason"),
        (r"1\nno\n", "refused the agent: no (1)"),
    ],
)
def test_a_jvm_that_refuses_the_agent(tmp_path: Path, answer: str, why: str) -> None:
    with fake_jvm(tmp_path, answer) as jvm:
        refused(tapped(jvm.pid, tmp_path / "x"), f"process {jvm.pid} ", why)


def test_performance_data_that_are_a_pipe_do_not_stop_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--list` of root reads what every user put into /tmp."""
    with fake_jvm(tmp_path) as jvm:
        folder = tmp_path / f"hsperfdata_{shared_folders.user(os.geteuid())}"
        folder.mkdir()
        os.mkfifo(folder / str(jvm.pid))
        monkeypatch.setattr(
            "kdissect.tap.jvms.temporary_folder", lambda _: shared_folders.opened_folder(str(tmp_path))
        )
        signal.alarm(30)  # a hang fails
        try:
            assert [each.java for each in list_jvms() if each.pid == jvm.pid] == [""]
        finally:
            signal.alarm(0)


def test_a_temporary_folder_of_a_container_that_is_a_link(tmp_path: Path) -> None:
    """Linux would follow it in the file system of the host."""
    (tmp_path / "tmp").symlink_to("/etc")
    with pytest.raises(OSError, match=r"directory|links"), shared_folders.opened_folder(str(tmp_path), "tmp"):
        pass


@needs_root
@pytest.mark.parametrize("kind", [Path.touch, os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_a_file_of_another_user_in_the_place_of_the_capture(
    tmp_path: Path, kind: Callable[[Path], None]
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    target = shared / "app.pcapng"
    kind(target)
    os.chown(target, OTHER, OTHER, follow_symlinks=False)
    before = inode(target)
    with fake_jvm(tmp_path, LOADED) as jvm:
        refused(tapped(jvm.pid, target), f"{target} is ", "of 12345 in a folder that other users can write")
    assert inode(target) == before


def test_a_second_name_of_a_file_in_the_place_of_the_capture(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    hard_link(shared / "app.pcapng")
    refused(run("tap", 0x3FFFFFFF, "-w", shared / "app.pcapng"), "has a hard link with another name")
    assert stat.S_IMODE((shared / "app.pcapng").stat().st_mode) != 0o600


@pytest.mark.parametrize("kind", [hard_link, lambda path: path.symlink_to("/dev/null")])
def test_a_planted_file_in_the_place_of_a_live_capture(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    """`live -i tap:PID -w FILE` writes plaintext by other code than `tap PID -w FILE`."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    target = shared / "app.pcapng"
    kind(target)
    if target.is_symlink():
        if os.geteuid():
            pytest.skip("needs root")
        os.chown(target, OTHER, OTHER, follow_symlinks=False)
    before = inode(target)
    with pytest.raises(OSError, match="remove it, or write elsewhere"):
        live_captures._open_private(str(target))
    assert inode(target) == before


def test_a_file_of_this_user_is_written_from_its_start(tmp_path: Path) -> None:
    """By a live capture when it begins; `tap` keeps what was there until the agent has come."""
    target = tmp_path / "app.pcapng"
    for opened, kept in ((shared_folders.open_private, b"older"), (live_captures._open_private, b"")):
        target.write_bytes(b"older")
        target.chmod(0o666)
        os.close(opened(str(target)))
        assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (kept, 0o600)
