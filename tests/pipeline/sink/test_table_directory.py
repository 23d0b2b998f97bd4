"""Batches into a directory of tables: each counts once, whatever is tried again and killed when."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import duckdb
import pyarrow.dataset as ds
import pytest

from kdissect.pipeline.sink.readers import committed_files, dataset_of
from kdissect.pipeline.sink.table_directory import ForeignTablesError, Recovered
from kdissect.pipeline.table_files.commit import OutputDirectory
from kdissect.pipeline.table_files.manifest_file import MANIFEST, ManifestError, NewerTablesError
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from tests.pipeline.sink.crashes import CrashError, Crashing
from tests.pipeline.sink.directories import DAY_ONE, Clock, commit, directory_at, rates, staged


def numbers_in(root: Path) -> list[int]:
    """Return what is in `rates`, as who reads the manifest finds it, in its order."""
    return dataset_of(str(root), "rates").to_table().column("exchanges").to_pylist()


def names_in(root: Path) -> list[str]:
    return dataset_of(str(root), "topics").to_table().column("topic").to_pylist()


def by_pattern(root: Path) -> list[int]:
    """Return what is in `rates` for who knows no manifest."""
    return sorted(ds.dataset(root / "rates", format="parquet").to_table().column("exchanges").to_pylist())


def by_glob(root: Path) -> list[int]:
    """Return the same with DuckDB."""
    query = "select exchanges from read_parquet(?)"
    return sorted(row[0] for row in duckdb.execute(query, [f"{root}/rates/**/*.parquet"]).fetchall())


def test_batches_append_and_replace(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    assert directory.last_batch() is None
    assert directory.recover() == Recovered()
    commit(directory, 0, [1, 2], "old")
    commit(directory, 1, [3], "new")
    assert numbers_in(tmp_path) == [1, 2, 3]
    assert names_in(tmp_path) == ["new"]
    assert directory.last_batch() == 1
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["inputs"] == ["file1"]
    assert [file["batch"] for file in manifest["files"]] == [0, 0, 1, 1]
    assert not list((tmp_path / "_staging").glob("*"))


def test_a_batch_that_is_tried_again_counts_once(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    commit(directory, 0, [1], "a")
    commit(directory, 1, [2, 3], "b")
    commit(directory, 1, [4], "c")
    assert numbers_in(tmp_path) == [1, 4]
    assert names_in(tmp_path) == ["c"]


def test_a_batch_before_the_last_is_refused(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    commit(directory, 3, [1], "a")
    with pytest.raises(ValueError, match="batch 2 behind batch 3: the checkpoint is of other tables"):
        commit(directory, 2, [9], "b")
    assert numbers_in(tmp_path) == [1]


def test_parts_are_replaced_beside_rows_that_stay(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)

    def add(batch: int, number: int) -> list[WrittenFile]:
        return staged(directory, batch, "rates", rates([number]))

    begun = staged(directory, 0, "rates", rates([1]), rates([10]))
    directory.commit_batch(0, begun[:1], {"set 1": begun[1:]}, {})
    first = staged(directory, 1, "rates", rates([2]), rates([11]))
    directory.commit_batch(1, first[:1], {"set 2": first[1:]}, {})
    assert numbers_in(tmp_path) == [1, 10, 2, 11]
    directory.commit_batch(2, [], {"set 1": [], "set 2": add(2, 12)}, {})
    assert numbers_in(tmp_path) == [1, 2, 12]
    directory.commit_batch(2, [], {"set 1": [], "set 2": add(2, 13)}, {})
    assert numbers_in(tmp_path) == [1, 2, 13]
    assert [entry.part for entry in directory.entries()] == [None, None, "set 2"]


def test_a_table_can_become_empty(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    commit(directory, 0, [1], "a")
    directory.commit_batch(1, [], {"topics": []}, {})
    assert names_in(tmp_path) == []
    assert numbers_in(tmp_path) == [1]


def test_who_holds_an_older_manifest_reads_on_for_a_while(tmp_path: Path) -> None:
    clock = Clock()
    directory = directory_at(tmp_path, grace_s=60, clock=clock)
    commit(directory, 0, [1], "a")
    held = committed_files(str(tmp_path), "topics")
    commit(directory, 1, [2], "b")
    clock.now += 59
    commit(directory, 2, [3], "c")
    assert duckdb.execute("select topic from read_parquet(?)", [held]).fetchall() == [("a",)]
    clock.now += 1
    commit(directory, 3, [4], "d")
    assert not Path(held[0]).exists()
    assert len(list((tmp_path / "topics").iterdir())) == 3  # d, and b and c, which wait
    clock.now += 60
    assert directory.recover() == Recovered()
    commit(directory, 4, [5], "e")
    assert len(list((tmp_path / "topics").iterdir())) == 2


def test_tables_of_a_run_are_not_added_to(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    files = staged(directory, 0, "rates", rates([1]))
    OutputDirectory(directory.filesystem, directory.root).commit("b00000000", files, {})
    for attempt in (directory.recover, directory.last_batch, lambda: commit(directory, 0, [2], "a")):
        with pytest.raises(ForeignTablesError, match="tables of a run already"):
            attempt()
    assert numbers_in(tmp_path) == [1]


def test_a_run_that_overwrites_a_stream_leaves_nothing_of_it(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    commit(directory, 0, [1], "a")
    commit(directory, 1, [2], "b")
    (tmp_path / "rates" / "of_mine.parquet").write_bytes(b"")
    manifest = directory.manifest()
    assert manifest is not None
    directory.clear(manifest)
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["of_mine.parquet"]


def test_tables_of_a_newer_kdissect_are_refused(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    commit(directory, 0, [1], "a")
    path = tmp_path / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tables_version": 99, "kdissect": "9.1"}))
    said = (
        r"^written by kdissect 9\.1 with tables of version 99; "
        r"this kdissect knows them up to \d+: update it, or choose another directory$"
    )
    for attempt in (
        directory.recover,
        directory.last_batch,
        lambda: commit(directory, 1, [2], "a"),
        directory.manifest,
    ):
        with pytest.raises(NewerTablesError, match=said):
            attempt()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 1}', "\udcff"])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ManifestError, match="damaged"):
        directory_at(tmp_path).recover()


@pytest.mark.parametrize("renames_over", [True, False])
def test_killed_at_any_change_a_batch_is_there_once(tmp_path: Path, renames_over: bool) -> None:
    """Whoever reads after the kill finds the batch before or this one; trying again leaves one, no orphan."""
    changes, seen = 0, set()
    begun = directory_at(tmp_path / "begun", grace_s=0)
    commit(begun, 0, [1, 2], "a")
    commit(begun, 1, [3], "b")
    while True:
        root = tmp_path / str(changes)
        copytree(begun.root, root)
        crashing = Crashing(changes, renames_over)
        try:
            commit(directory_at(root, crashing.filesystem, grace_s=0), 2, [4, 5], "c")
        except CrashError:
            pass
        else:
            break
        found = numbers_in(root), names_in(root)
        assert found in [([1, 2, 3], ["b"]), ([1, 2, 3, 4, 5], ["c"])]
        again = directory_at(root, grace_s=0)
        left = again.recover()
        assert again.recover() == Recovered()
        assert (numbers_in(root), names_in(root)) == found
        assert by_pattern(root) == found[0]
        assert again.last_batch() == len(found[0]) // 2
        commit(again, 2, [4, 6], "d")
        assert (numbers_in(root), names_in(root)) == ([1, 2, 3, 4, 6], ["d"])
        assert by_pattern(root) == [1, 2, 3, 4, 6]
        assert not list(root.glob("*.next"))
        seen.add((len(found[0]), left.orphans > 0, left.staged > 0))
        changes += 1
    assert changes > 12
    assert seen >= {(3, False, True), (3, True, True), (3, True, False), (5, True, False), (5, False, False)}


def test_what_a_pattern_finds_between_a_kill_and_the_next_start(tmp_path: Path) -> None:
    """Rows of the batch that was not committed, some or all; the manifest has none of them."""
    crashing = Crashing()
    directory = directory_at(tmp_path, crashing.filesystem)
    commit(directory, 0, [1], "a")
    files = staged(directory, 1, "rates", rates([2], DAY_ONE), rates([3], DAY_ONE), by=("day",))
    crashing.crash_after(2)  # the directory, and one file
    with pytest.raises(CrashError):
        directory.commit_batch(1, files, {}, {})
    assert by_pattern(tmp_path) == by_glob(tmp_path) == [1, 2]
    assert numbers_in(tmp_path) == [1]
    left = directory_at(tmp_path).recover()
    assert (left.orphans, left.staged) == (1, 1)
    assert left.orphan_bytes > 0
    assert by_pattern(tmp_path) == by_glob(tmp_path) == numbers_in(tmp_path) == [1]


def test_what_a_pattern_finds_while_a_stream_runs(tmp_path: Path) -> None:
    """Tables that are replaced twice, until readers of the older manifest had their time."""
    for grace_s, found in ((60, ["a", "b"]), (0, ["b"])):
        root = tmp_path / str(grace_s)
        directory = directory_at(root, grace_s=grace_s)
        commit(directory, 0, [1], "a")
        commit(directory, 1, [2], "b")
        query = "select topic from read_parquet(?) order by topic"
        assert [row[0] for row in duckdb.execute(query, [f"{root}/topics/*.parquet"]).fetchall()] == found
        assert names_in(root) == ["b"]


def test_what_others_put_there_stays(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    commit(directory, 0, [1], "a")
    mine = tmp_path / "rates" / "part-00000.parquet"
    mine.write_bytes(b"")
    assert directory.recover() == Recovered()
    assert mine.exists()


_KILLED = """
import os, sys
from tests.pipeline.sink.directories import commit, directory_at
from pathlib import Path
directory = directory_at(Path(sys.argv[1]))
commit(directory, 0, [1], "a")
write = directory.write
def killed(manifest):
    os.kill(os.getpid(), 9)
directory.write = killed
commit(directory, 1, [2], "b")
"""


def test_a_process_that_is_killed_holds_no_lock(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    assert done.returncode == -9
    directory = directory_at(tmp_path)
    left = directory.recover()
    assert (left.orphans, left.staged) == (2, 0)
    commit(directory, 1, [3], "c")
    assert numbers_in(tmp_path) == [1, 3]
