"""Small files become large ones: the same rows, old ones or new ones for who reads, whatever is killed."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.sink.compaction import Compacted, compact, compact_every, groups_of
from kdissect.pipeline.sink.entry import Entry
from kdissect.pipeline.sink.lock import BusyError
from kdissect.pipeline.sink.readers import committed_files, dataset_of
from kdissect.pipeline.sink.rewriting import Rewriting
from kdissect.pipeline.sink.table_directory import Recovered
from kdissect.pipeline.table_files import small_files
from kdissect.pipeline.table_files.commit import OutputDirectory
from tests.pipeline.sink.crashes import CrashError, Crashing
from tests.pipeline.sink.directories import DAY_ONE, DAY_TWO, Clock, commit, directory_at, rates, staged


def numbers_in(root: object, table: str = "rates") -> list[int]:
    return dataset_of(str(root), table).to_table().column("exchanges").to_pylist()


def files_in(root: object, table: str = "rates") -> list[str]:
    return committed_files(str(root), table)


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """Six batches of two files each, in two days."""
    directory = directory_at(tmp_path / "grown", grace_s=0)
    for batch in range(6):
        commit(directory, batch, [2 * batch, 2 * batch + 1], "a", DAY_ONE if batch < 3 else DAY_TWO)
    return tmp_path / "grown"


def test_rows_and_their_order_stay(grown: Path) -> None:
    before = dataset_of(str(grown), "rates").to_table()
    done = compact(directory_at(grown, grace_s=0))
    assert done[:2] == (10, 2)  # those of the last batch wait
    assert dataset_of(str(grown), "rates").to_table().equals(before)
    assert len(files_in(grown)) == 4 == len(list((grown / "rates").rglob("*.parquet")))
    names = [path.rsplit("/", 1)[1] for path in files_in(grown)]
    assert names == sorted(names)


def test_the_last_batch_can_still_be_committed_again(grown: Path) -> None:
    directory = directory_at(grown)
    compact(directory)
    commit(directory, 5, [99], "b", DAY_TWO)
    assert numbers_in(grown) == [*range(10), 99]
    commit(directory, 6, [100], "b", DAY_TWO)
    compact(directory)
    assert numbers_in(grown) == [*range(10), 99, 100]
    assert [entry.batch for entry in directory.entries("rates")] == [2, 5, 6]


def test_who_holds_the_old_manifest_reads_on_for_a_while(grown: Path) -> None:
    import duckdb

    clock = Clock()
    directory = directory_at(grown, grace_s=60, clock=clock)
    held = files_in(grown)
    compact(directory)
    query = "select exchanges from read_parquet(?, hive_partitioning=true)"
    assert [row[0] for row in duckdb.execute(query, [held]).fetchall()] == list(range(12))
    clock.now += 60
    commit(directory, 6, [12], "b", DAY_TWO)
    assert [Path(path).exists() for path in held] == [False] * 10 + [True] * 2


def test_what_waits_to_be_deleted_goes_when_there_is_nothing_to_join(grown: Path) -> None:
    clock = Clock()
    compact(directory_at(grown, grace_s=60, clock=clock))
    assert len(list((grown / "rates").rglob("*.parquet"))) == 14
    clock.now += 60
    assert compact(directory_at(grown, grace_s=60, clock=clock)) == Compacted()
    assert len(list((grown / "rates").rglob("*.parquet"))) == 4


@pytest.mark.exhaustive
def test_killed_at_any_change_there_are_the_old_files_or_the_new(grown: Path, tmp_path: Path) -> None:
    changes, seen = 0, set()
    while True:
        root = tmp_path / str(changes)
        copytree(grown, root)
        crashing = Crashing(changes)
        try:
            compact(directory_at(root, crashing.filesystem, grace_s=0))
        except CrashError:
            pass
        else:
            break
        assert numbers_in(root) == list(range(12))
        seen.add(len(files_in(root)))
        again = directory_at(root, grace_s=0)
        again.recover()
        assert again.recover() == Recovered()
        assert numbers_in(root) == list(range(12))
        assert len(list((root / "rates").rglob("*.parquet"))) == len(files_in(root))
        compact(again)
        assert (len(files_in(root)), numbers_in(root)) == (4, list(range(12)))
        changes += 1
    assert changes > 10
    assert seen == {12, 4}


def test_what_a_killed_compaction_staged_goes_with_the_next(grown: Path) -> None:
    crashing = Crashing(6)
    with pytest.raises(CrashError):
        compact(directory_at(grown, crashing.filesystem))
    left = grown / "_staging"
    assert [path.name[:8] for path in left.iterdir()] == ["rewrite-"]
    (left / "b00000006").mkdir()  # a batch is under way
    (left / "b00000006" / "task.parquet").write_bytes(b"")
    compact(directory_at(grown))
    assert [path.name for path in left.iterdir()] == ["b00000006"]


def test_large_files_stay_and_keep_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files on both sides of a large one are two groups: else rows would change places."""
    directory = directory_at(tmp_path)
    for batch in range(6):
        numbers = range(batch * 1000, batch * 1000 + (1000 if batch == 2 else 1))
        directory.commit_batch(batch, staged(directory, batch, "rates", rates(list(numbers))), {}, {})
    before = numbers_in(tmp_path)
    large = directory.entries("rates")[2].bytes
    monkeypatch.setattr("kdissect.pipeline.table_files.small_files.LARGE_BYTES", large)
    monkeypatch.setattr("kdissect.pipeline.sink.compaction.LARGE_BYTES", large)
    assert compact(directory)[:2] == (4, 2)
    assert numbers_in(tmp_path) == before
    assert [entry.batch for entry in directory.entries()] == [1, 2, 4, 5]


def test_joined_files_are_not_larger_than_those_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = directory_at(tmp_path)
    for batch in range(7):
        directory.commit_batch(batch, staged(directory, batch, "rates", rates([batch])), {}, {})
    size = directory.entries()[0].bytes
    monkeypatch.setattr(small_files, "FILE_BYTES", int(2.5 * size))
    assert compact(directory)[:2] == (6, 3)
    assert numbers_in(tmp_path) == list(range(7))


def entry(number: int, size: int, directory: str = "") -> Entry:
    path = "/".join(filter(None, ("rates", directory, f"b{number:08}-00000000-0000.parquet")))
    return Entry("rates", path, size // 100, size, number)


def test_what_is_written_again_is_written_seldom() -> None:
    """1000 batches of 100 KB, compacted every 10: rows are written as often as files double."""
    entries: list[Entry] = []
    written = 0
    for number in range(1000):
        entries.append(entry(number, 100_000))
        if number % 10 == 9:
            for group in groups_of(entries, whole=False):
                size = sum(old.bytes for old in group)
                written += size
                at = entries.index(group[0])
                entries[at : at + len(group)] = [group[0]._replace(bytes=size, rows=size // 100)]
    assert sum(old.bytes for old in entries) == 100_000_000
    assert len(entries) < 20
    assert 100_000_000 < written < 600_000_000


def test_partitions_and_tables_are_joined_apart() -> None:
    held = [entry(1, 5, "day=1"), entry(2, 5, "day=2"), entry(3, 5, "day=1")]
    held.append(entry(4, 5)._replace(table="batches", path="batches/day=1/x.parquet"))
    assert [[old.batch for old in group] for group in groups_of(held)] == [[1, 3]]


def test_every_so_many_batches(tmp_path: Path) -> None:
    directory = directory_at(tmp_path)
    done = []
    for batch in range(9):
        commit(directory, batch, [batch], "a")
        done.append(compact_every(directory, 4))
    assert [each and each[:2] for each in done] == [None, None, None, (3, 1), None, None, None, (5, 1), None]
    assert numbers_in(tmp_path) == list(range(9))


def test_parts_are_not_joined_with_rows_that_stay(tmp_path: Path) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    for batch in range(4):
        files = staged(directory, batch, "rates", rates([batch]), rates([10 + batch]))
        directory.commit_batch(batch, files[:1], {"open": files[1:]} if batch == 1 else {}, {})
    assert numbers_in(tmp_path) == [0, 1, 11, 2, 3]
    assert compact(directory)[:2] == (3, 1)
    assert sorted(numbers_in(tmp_path)) == [0, 1, 2, 3, 11]
    directory.commit_batch(4, [], {"open": []}, {})
    assert sorted(numbers_in(tmp_path)) == [0, 1, 2, 3]


def test_a_file_that_is_damaged_does_not_stop_a_stream(tmp_path: Path) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    for batch in range(3):
        directory.commit_batch(batch, staged(directory, batch, "rates", rates([batch])), {}, {})
    Path(files_in(tmp_path)[0]).write_bytes(b"no Parquet")
    said: list[str] = []
    assert compact_every(directory, 2, said.append) is None
    assert len(said) == 1
    assert said[0].startswith("small files were not joined: ")
    assert compact_every(directory, 2, said.append) is None
    assert len(said) == 1
    assert len(directory.entries()) == 3


def test_what_was_replaced_in_the_meantime_is_not_brought_back(grown: Path) -> None:
    directory = directory_at(grown)
    held = [old for old in directory.entries("rates") if old.directory == f"day={DAY_TWO}"]
    with Rewriting(directory) as rewriting:
        swaps = [rewriting.write(held[-2:])]
        commit(directory, 5, [77], "b", DAY_TWO)  # tried again
        assert rewriting.swap(swaps) == []
    assert numbers_in(grown) == [*range(10), 77]
    assert directory.recover() == Recovered()


def _compacting(root: str, entered: Any, finish: Any) -> None:
    with Rewriting(directory_at(Path(root))):
        entered.set()
        finish.wait()


def test_two_at_a_time_are_refused(grown: Path) -> None:
    context = multiprocessing.get_context("fork")
    entered, finish = context.Event(), context.Event()
    other = context.Process(target=_compacting, args=(str(grown), entered, finish))
    other.start()
    entered.wait()
    try:
        with pytest.raises(BusyError, match="being rewritten by somebody else"):
            compact(directory_at(grown))
        assert compact_every(directory_at(grown), 1) is None
        commit(directory_at(grown), 6, [12], "b")  # a stream goes on
    finally:
        finish.set()
        other.join()
    assert compact(directory_at(grown)).after == 2


def test_tables_of_a_run_are_compacted_too(tmp_path: Path) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    OutputDirectory(directory.filesystem, directory.root).commit(
        "b00000000", staged(directory, 0, "rates", rates([1]), rates([2])), {}
    )
    assert compact(directory).before == 2
    assert numbers_in(tmp_path) == [1, 2]
    assert compact(directory) == Compacted()


def test_a_table_of_another_is_joined_as_it_is(tmp_path: Path) -> None:
    import pyarrow as pa

    directory = directory_at(tmp_path, grace_s=0)
    for batch in range(3):
        rows = pa.RecordBatch.from_pylist([{"x": batch}])
        directory.commit_batch(batch, staged(directory, batch, "_relay", rows), {}, {})
    assert "_relay" not in TABLES
    assert compact(directory).before == 2
    assert [old.rows for old in directory.entries("_relay")] == [2, 1]
