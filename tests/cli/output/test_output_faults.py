"""Faults while a file is being written: it is complete, or what was there before is there still."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kdissect.cli.output import Output, OutputError
from tests.support.console import CAPTURES

CAPTURE = str(CAPTURES / "kafka44_java_produce.pcapng")
FAULTY = str(
    CAPTURES / "mock_rdk216_txn.pcap"
)  # a baseline of no findings is shorter than what fills the disk
# The command, and whether its format has an end that a prefix lacks.
COMMANDS = {
    "inspect": ["inspect", CAPTURE, "--format", "jsonl", "--bodies", "--output", "{}"],
    "records": ["records", CAPTURE, "--format", "jsonl", "--output", "{}"],
    "parquet": ["records", CAPTURE, "--format", "parquet", "--output", "{}"],
    "stats": ["stats", CAPTURE, "--format", "json", "--output", "{}"],
    "extract": ["extract", CAPTURE, "--output", "{}"],
    "report": ["check", CAPTURE, "--exit-zero", "--report", "html={}"],
    "baseline": ["check", FAULTY, "--exit-zero", "--write-baseline", "{}"],
}
# Dies in the middle of a file that is being written: once this many bytes went to any descriptor but 0 to 2.
KILLED = """
import builtins, io, os, signal, sys
left = int(sys.argv.pop(1))
def die(size):
    global left
    left -= size
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
write, opened = os.write, builtins.open
def os_write(fd, data):
    if fd > 2:
        die(len(data))
    return write(fd, data)
class Stream(io.BufferedWriter):
    def write(self, data):
        die(len(data))
        return super().write(data)
def open_(path, mode="r", *rest, **options):
    if mode == "wb":
        return Stream(io.FileIO(path, "w"))
    return opened(path, mode, *rest, **options)
os.write, builtins.open = os_write, open_
from kdissect.cli import main
sys.exit(main(sys.argv[1:]))
"""
# No file may grow beyond this; Python turns the signal into an error, as a full disk gives one.
LIMITED = """
import resource, sys
limit = int(sys.argv.pop(1))
from kdissect.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(main(sys.argv[1:]))
"""


def run(code: str, limit: int, name: str, path: Path) -> "subprocess.CompletedProcess[bytes]":
    command = [part.format(path) for part in COMMANDS[name]]
    return subprocess.run(
        [sys.executable, "-c", code, str(limit), *command], check=False, capture_output=True
    )


def prepared(name: str, folder: Path) -> Path:
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra arrow")
    path = folder / "old"
    path.write_bytes(b"what was there")
    return path


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    path = prepared(name, tmp_path)
    whole = run(KILLED, 1 << 40, name, path)
    assert whole.returncode == 0, whole.stderr
    size = len(path.read_bytes())
    path.write_bytes(b"what was there")
    for limit in (0, size // 2, size - 1):
        done = run(KILLED, limit, name, path)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert path.read_bytes() == b"what was there"


@pytest.mark.sampled(6)
@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_what_was_there_and_says_so(name: str, tmp_path: Path) -> None:
    path = prepared(name, tmp_path)
    done = run(LIMITED, 100, name, path)
    assert done.returncode == 3, done.stderr
    lines = done.stderr.decode().splitlines()
    assert "File too large" in lines[-1]
    assert "Traceback" not in done.stderr.decode()
    assert [each.name for each in tmp_path.iterdir()] == ["old"]
    assert path.read_bytes() == b"what was there"


def test_an_interrupt_keeps_what_was_printed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), Output(str(path)) as output:
        output.write(b"a line\n")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"a line\n"


def test_an_error_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(OutputError), Output(str(path)) as output:
        output.write(b"a line\n")
        raise OutputError
    assert list(tmp_path.iterdir()) == []


def test_followers_of_a_stream_see_each_line(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with Output(str(path), live=True) as output:
        output.write(b"a line\n")
        assert path.read_bytes() == b"a line\n"


def test_a_pipe_is_written_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with Output(str(path)) as output:
        output.write(b"a line\n")
    assert os.read(reader, 100) == b"a line\n"
    os.close(reader)
