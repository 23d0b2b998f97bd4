"""Days that are no longer kept."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pytest

from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.sink.readers import dataset_of
from kdissect.pipeline.sink.retention import Retained, retain
from kdissect.pipeline.sink.table_directory import Recovered
from tests.pipeline.sink.crashes import CrashError, Crashing
from tests.pipeline.sink.directories import DAY_ONE, DAY_TWO, commit, directory_at, rates, staged

DAY_TWO_NS = (DAY_TWO - date(1970, 1, 1)).days * 86_400_000_000_000


def rows_of(table: str, *rows: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_pylist(list(rows), schema=arrow_schema(TABLES[table]))


def column(root: Path, table: str, name: str) -> list[Any]:
    return dataset_of(str(root), table).to_table().column(name).to_pylist()


def test_whole_partitions_go(tmp_path: Path) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    commit(directory, 0, [1, 2], "a", DAY_ONE)
    commit(directory, 1, [3], "a", DAY_TWO)
    assert retain(directory, DAY_ONE) == Retained()
    assert retain(directory, DAY_TWO) == Retained(rows=2, files=2)
    assert column(tmp_path, "rates", "exchanges") == [3]
    assert [path.name for path in (tmp_path / "rates").iterdir()] == [f"day={DAY_TWO}"]
    assert column(tmp_path, "topics", "topic") == ["a"]  # has no time


def test_partitions_without_a_day_stay(tmp_path: Path) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    no_day = rows_of("rates", {"exchanges": 7})
    directory.commit_batch(0, staged(directory, 0, "rates", no_day, by=("day",)), {}, {})
    assert "__HIVE_DEFAULT_PARTITION__" in directory.entries()[0].path
    assert retain(directory, DAY_TWO) == Retained()


@pytest.mark.parametrize(
    ("table", "name", "old", "new"),
    [
        ("rates", "day", DAY_ONE, DAY_TWO),
        ("anomalies", "time_ns", DAY_TWO_NS - 1, DAY_TWO_NS),
        ("files", "last_time_ns", 0, DAY_TWO_NS),
    ],
)  # fmt: skip
def test_files_without_partitions_are_written_again(
    tmp_path: Path, table: str, name: str, old: Any, new: Any
) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    mixed = rows_of(table, {name: old}, {name: new}, {name: None}, {name: old})
    only_old = rows_of(table, {name: old})
    only_new = rows_of(table, {name: new})
    directory.commit_batch(0, staged(directory, 0, table, only_old, mixed, only_new), {}, {})
    assert retain(directory, DAY_TWO) == Retained(rows=3, files=1, rewritten=1)
    assert column(tmp_path, table, name) == [new, None, new]
    assert retain(directory, DAY_TWO) == Retained()
    assert directory.entries()[0].batch == 0  # tried again, the batch still takes its place
    directory.commit_batch(0, staged(directory, 0, table, only_new), {}, {})
    assert column(tmp_path, table, name) == [new]


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    directory = directory_at(tmp_path, grace_s=0)
    directory.commit_batch(0, staged(directory, 0, "rates", rates([])), {}, {})
    assert retain(directory, DAY_TWO) == Retained()
    assert len(directory.entries()) == 1


def test_killed_at_any_change_days_are_there_or_gone(tmp_path: Path) -> None:
    begun = directory_at(tmp_path / "begun", grace_s=0)
    commit(begun, 0, [1, 2], "a", DAY_ONE)
    begun.commit_batch(
        1, staged(begun, 1, "rates", rates([3], DAY_ONE), rates([4], DAY_TWO), by=("day",)), {}, {}
    )
    begun.commit_batch(
        2, staged(begun, 2, "batches", rows_of("batches", {"day": DAY_ONE}, {"day": DAY_TWO})), {}, {}
    )
    changes, seen = 0, set()
    while True:
        root = tmp_path / str(changes)
        copytree(begun.root, root)
        try:
            retain(directory_at(root, Crashing(changes).filesystem, grace_s=0), DAY_TWO)
        except CrashError:
            pass
        else:
            break
        found = column(root, "rates", "exchanges"), len(column(root, "batches", "day"))
        assert found in [([1, 2, 3, 4], 2), ([4], 1)]
        seen.add(len(found[0]))
        again = directory_at(root, grace_s=0)
        again.recover()
        assert again.recover() == Recovered()
        retain(again, DAY_TWO)
        assert column(root, "rates", "exchanges") == [4]
        changes += 1
    assert seen == {4, 1}
