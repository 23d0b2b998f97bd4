"""Outputs of an earlier run: what cannot be read, or written, leaves them; what a kill left goes away."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdissect.capture.whole_file import WholeFile, abandoned, beside
from kdissect.cli import main
from tests.support.console import CAPTURES, command

CAPTURE = str(CAPTURES / "tansu_rdk216_acks.pcap")
SEGMENT = str(next(CAPTURES.glob("logs/**/*.log")))
# Each writes to OUT, of IN.
COMMANDS = {
    "inspect": ["inspect", "IN", "-o", "OUT"],
    "inspect jsonl": ["inspect", "IN", "--format", "jsonl", "-o", "OUT"],
    "jobs": ["inspect", "IN", "--format", "jsonl", "--jobs", "2", "-o", "OUT"],
    "connections": ["connections", "IN", "-o", "OUT"],
    "records": ["records", "IN", "-o", "OUT"],
    "parquet": ["records", "IN", "--format", "parquet", "-o", "OUT"],
    "segments": ["segments", "IN", "-o", "OUT"],
    "segments parquet": ["segments", "IN", "--format", "parquet", "-o", "OUT"],
    "info": ["info", "IN", "-o", "OUT"],
    "stats": ["stats", "IN", "--format", "json", "-o", "OUT"],
    "groups": ["groups", "IN", "-o", "OUT"],
    "extract": ["extract", "IN", "-o", "OUT"],
    "extract redacted": ["extract", "IN", "--redact", "-o", "OUT"],
    "extract connections": ["extract", "IN", "--connections", "-o", "OUT"],
    "check": ["check", "IN", "-o", "OUT"],
    "html": ["check", "IN", "--report", "html=OUT"],
    "baseline": ["check", "IN", "--write-baseline", "OUT"],
}
OLD = b"what was there"


def of(name: str, given: object, out: object) -> list[str]:
    """Return the command line."""
    if "parquet" in name:
        pytest.importorskip("pyarrow", reason="needs the extra arrow")
    return [part.replace("IN", str(given)).replace("OUT", str(out)) for part in COMMANDS[name]]


def missing(folder: Path) -> Path:
    return folder / "missing.pcap"


def no_capture(folder: Path) -> Path:
    path = folder / "a.pcap"
    path.write_bytes(b"this is no capture")
    return path


@pytest.mark.parametrize("given", [missing, no_capture])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_input_that_cannot_be_opened_leaves_the_old_output(
    name: str, given: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if name.startswith("segments") and given is no_capture:
        pytest.skip("any file is a segment, and a damaged one is told of")
    path, out = given(tmp_path), tmp_path / "out"  # type: ignore[operator]
    out.write_bytes(OLD)
    before = sorted(each.name for each in tmp_path.iterdir())
    assert main(of(name, path, out)) == 3
    err = capfd.readouterr().err
    assert len(err.splitlines()) == 1
    assert str(path) in err
    assert out.read_bytes() == OLD
    assert sorted(each.name for each in tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.startswith("segments")])
def test_what_some_inputs_told_is_written(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out, alone = tmp_path / "out", tmp_path / "alone"
    out.write_bytes(OLD)
    given = of(name, CAPTURE, out)
    code = main([*given[:1], str(missing(tmp_path)), *given[1:]])
    assert code == (1 if name in ("check", "html") else 3)  # findings stand whatever else was not read
    main(of(name, CAPTURE, alone))
    assert OLD not in out.read_bytes()
    if name in ("connections", "records", "groups", "extract connections"):
        assert out.read_bytes() == alone.read_bytes()


def test_tables_and_evidence_of_what_cannot_be_opened_leave_the_old_ones(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    folder, evidence = tmp_path / "tables", tmp_path / "evidence"
    assert main(["tables", CAPTURE, "--output", str(folder)]) == 0
    assert main(["check", CAPTURE, "--evidence", str(evidence)]) == 1
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(before) > 10
    assert main(["tables", str(missing(tmp_path)), "--output", str(folder), "--overwrite"]) == 3
    assert main(["check", str(missing(tmp_path)), "--evidence", str(evidence)]) == 3
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_evidence_takes_the_place_of_the_old_one_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from kdissect.cli.findings import check_evidence

    (tmp_path / "ABC123-001.pcapng").write_bytes(OLD)
    (tmp_path / "notes.txt").write_bytes(OLD)
    assert main(["check", CAPTURE, "--evidence", str(tmp_path), "--format", "json"]) == 1
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(made) > 2
    assert "ABC123-001.pcapng" not in made
    assert made["notes.txt"] == OLD
    assert str(tmp_path / min(made)) in capfd.readouterr().out  # the paths that are told are those that are

    write = check_evidence._write

    def once(*given: Any) -> None:
        if list((tmp_path / given[0]).parent.iterdir()):
            raise OSError(28, "No space left on device")
        write(*given)

    monkeypatch.setattr(check_evidence, "_write", once)
    capfd.readouterr()
    assert main(["check", CAPTURE, "--evidence", str(tmp_path)]) == 3
    assert str(tmp_path) not in capfd.readouterr().out  # none is named that is not of this run
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == made


# closed and full


@pytest.mark.sampled(8)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_output_is_one_line(name: str) -> None:
    given = of(name, SEGMENT if name.startswith("segments") else CAPTURE, "/dev/full")
    ran = subprocess.run(command(*given), capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr.splitlines()[-1] == "kdissect: /dev/full: No space left on device"
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_of_extract_is_one_line() -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        ran = subprocess.run(
            command("extract", CAPTURE, "-o", "-"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 3
    assert ran.stderr == "kdissect: standard output: No space left on device\n"


def test_a_dash_is_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["connections", CAPTURE, "-o", "-"]) == 0
    told = capfd.readouterr().out
    assert main(["connections", CAPTURE]) == 0
    assert capfd.readouterr().out == told != ""
    assert not list(tmp_path.iterdir())


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("mount") is None or os.name != "posix", reason="needs mount")
def test_a_full_disk_leaves_everything(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs root")
    try:
        out = disk / "out"
        out.write_bytes(OLD)
        (disk / "filler").write_bytes(bytes(56 << 10))
        for name in ("html", "inspect jsonl", "extract", "check"):
            given = of(name, str(CAPTURES / "kafka44_java_produce.pcapng"), out)
            ran = subprocess.run(command(*given, "--format", "json")[: -2 if name != "check" else None],
                                 capture_output=True, text=True, check=False)  # fmt: skip
            assert (name, ran.returncode) == (name, 3)
            assert [line for line in ran.stderr.splitlines() if "warning" not in line] == [
                f"kdissect: {out}: No space left on device"
            ]
            assert sorted(path.name for path in disk.iterdir()) == ["filler", "out"]
            assert out.read_bytes() == OLD
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# killed


def dead_process() -> int:
    """Return the number of a process that there was."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("name", ["inspect", "parquet", "extract", "html", "baseline"])
def test_what_a_killed_run_left_goes_with_the_next(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / f"out.{dead_process()}.part").write_bytes(b"half a")
    others = [tmp_path / f"other.{dead_process()}.part", tmp_path / "out.part", tmp_path / "out.x.part"]
    others.append(tmp_path / f"out.{os.getppid()}.part")  # of a process that lives
    for path in others:
        path.write_bytes(b"of others")
    assert main(of(name, CAPTURE, out)) in (0, 1)
    assert set(tmp_path.iterdir()) == {out, *others}


LOCKING = """
import fcntl, os, sys
file = open(sys.argv[1], "wb")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_what_somebody_else_writes_stays_even_if_its_process_cannot_be_seen(tmp_path: Path) -> None:
    part = tmp_path / f"out.{dead_process()}.part"
    with subprocess.Popen(
        [sys.executable, "-c", LOCKING, str(part)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with WholeFile(str(tmp_path / "out")) as file:
            file.write(b"a")
        assert part.exists()
        other.communicate(b"")
    with WholeFile(str(tmp_path / "out")) as file:
        file.write(b"b")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)  # 254 bytes
    with WholeFile(str(path)) as file:
        assert list(abandoned(str(tmp_path))) == []
        file.write(b"a")
    assert path.read_bytes() == b"a"
    mine = Path(beside(str(path)))
    left = mine.with_name(mine.name.replace(f".{os.getpid()}.", f".{dead_process()}."))
    left.write_bytes(b"half a")
    with WholeFile(str(path)) as file:
        file.write(b"b")
    assert list(tmp_path.iterdir()) == [path]


def test_evidence_that_a_kill_left_goes_with_the_next(tmp_path: Path) -> None:
    left = tmp_path / f"files.{dead_process()}.part"
    left.mkdir()
    (left / "HDR009-001.pcapng").write_bytes(b"half a")
    assert main(["check", CAPTURE, "--evidence", str(tmp_path)]) == 1
    assert not left.exists()
    assert all(path.suffix == ".pcapng" for path in tmp_path.iterdir())


KILLED = """
import os, signal, sys
from kdissect.pipeline.table_files.commit import OutputDirectory
OutputDirectory.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from kdissect.cli import main
main(sys.argv[1:])
"""


def killed(arguments: Sequence[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, check=False)
    assert ran.returncode < 0, ran.stderr


def test_tables_that_a_kill_left_staged_go_with_the_next(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    given = ["tables", CAPTURE, "--output", str(tmp_path)]
    killed(given)
    staging = tmp_path / "_staging"
    assert list(staging.rglob("*.parquet"))
    (staging / "0123456789ab").mkdir()  # of a run elsewhere, which left no mark here
    assert main(given) == 0
    assert [path.name for path in staging.iterdir()] == ["0123456789ab"]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs /dev/shm")
def test_files_in_memory_are_whole() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        out = Path(folder) / "out"
        out.write_bytes(OLD)
        with pytest.raises(RuntimeError), WholeFile(str(out)) as file:
            file.write(b"half a")
            raise RuntimeError
        assert out.read_bytes() == OLD
