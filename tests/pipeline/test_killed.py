"""A run that is killed, wherever it is: its tables are there whole, or not; never in part, never twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from pyarrow import fs

from kdissect.cli import main
from kdissect.pipeline.table_files.commit import PENDING, OutputDirectory
from kdissect.pipeline.table_files.manifest_file import MANIFEST
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from tests.support.console import CAPTURES

CAPTURE = str(CAPTURES / "kafka44_java_errors.pcapng")
TABLES = ["tables", CAPTURE, "--tables", "exchanges,connections"]
CHANGING = ("move", "delete_file", "delete_dir", "create_dir", "open_output_stream")


class KilledError(BaseException):
    """Nothing of the process runs any more."""


class Dying:
    """A file system whose process dies before its `left`-th change."""

    def __init__(self, left: int) -> None:
        self._left = left
        self._real = fs.LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        if name in CHANGING:
            self._left -= 1
            if self._left < 0:
                raise KilledError
        return getattr(self._real, name)


def wrote(folder: Path, run: str) -> list[WrittenFile]:
    """Return what the tasks of a run staged."""
    files = []
    for table in ("exchanges", "connections"):
        for number in (1, 2):
            path = f"{table}/{run}-{number}.parquet"
            staged = folder / "_staging" / run / path
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_bytes(run.encode())
            files.append(WrittenFile(table, "", path, 1, len(run), False))
    return files


def there(folder: Path) -> set[str]:
    """Return the runs whose files a reader sees, with how many."""
    seen = [path for path in folder.rglob("*.parquet") if "_staging" not in path.parts]
    return {f"{path.name.partition('-')[0]} {len(seen)}" for path in seen}


def commit(directory: OutputDirectory, folder: Path, run: str) -> None:
    """Commit as `job.run` does once everything is staged."""
    files = wrote(folder, run)
    directory.undo_killed()
    before = directory.manifest()
    if before is not None:
        directory.clear(before)
    directory.commit(run, files, {})


def test_a_run_killed_at_any_change_is_whole_or_gone_for_the_next(tmp_path: Path) -> None:
    ends = set()
    for left in range(60):
        folder = tmp_path / str(left)
        commit(OutputDirectory(fs.LocalFileSystem(), str(folder)), folder, "old")
        try:
            commit(OutputDirectory(Dying(left), str(folder)), folder, "new")
            ends.add("done")
        except KilledError:
            ends.add("killed")
        whole = OutputDirectory(fs.LocalFileSystem(), str(folder))
        manifest = whole.manifest()  # what a reader who asks for it goes by
        if manifest is not None and not (folder / PENDING).exists():
            assert there(folder) == {f"{manifest['run']} 4"}
        whole.undo_killed()
        manifest = whole.manifest()
        assert there(folder) == (set() if manifest is None else {f"{manifest['run']} 4"})
        assert not (folder / PENDING).exists()
        ends.add("none" if manifest is None else manifest["run"])
    assert ends == {"done", "killed", "none", "old", "new"}


KILLED = """
import os, signal, sys
left = int(sys.argv.pop(1))
from kdissect.pipeline.table_files.commit import OutputDirectory
from kdissect.pipeline.table_files.parquet_parts import ParquetParts
from pyarrow import fs
class Dying:
    def __init__(self, real):
        self._real = real
    def __getattr__(self, name):
        global left
        if name in ("move", "delete_file"):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return getattr(self._real, name)
made = OutputDirectory.__init__
OutputDirectory.__init__ = lambda self, filesystem, root: made(self, Dying(filesystem), root)
close = ParquetParts.close
def closing(self):
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)  # files are open, none is whole
    return close(self)
ParquetParts.close = closing
from kdissect.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.sampled(6)
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("left", [0, 2, 3])
def test_tables_after_a_kill(left: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tables"
    words = [*TABLES, "--output", str(folder)]
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(left), *words], env=os.environ, capture_output=True, check=False
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert not (folder / MANIFEST).exists()
    assert main(words) == 0, "no tables are in the way"
    whole = capfd.readouterr().out
    assert main([*words, "--overwrite"]) == 0
    assert capfd.readouterr().out == whole
    seen = [path for path in folder.rglob("*.parquet") if "_staging" not in path.parts]
    assert len(seen) == 2
