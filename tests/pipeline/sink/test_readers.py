"""What is committed, as pyarrow and DuckDB read it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.sink.readers import committed, committed_files, dataset_of
from kdissect.pipeline.sink.table_directory import StreamDirectory
from tests.pipeline.sink.directories import DAY_ONE, DAY_TWO, directory_at, staged

BROKERS = ["10.0.0.1:9092", "[::1]:9092", None]
ROWS = [
    {"day": day, "broker": broker, "exchange": 3 * number + directory}
    for number, day in enumerate((DAY_ONE, DAY_TWO))
    for directory, broker in enumerate(BROKERS)
]


@pytest.fixture
def directory(tmp_path: Path) -> StreamDirectory:
    made = directory_at(tmp_path / "day=of" / "out=put")
    for batch, row in enumerate(ROWS):
        rows = pa.RecordBatch.from_pylist([row], schema=arrow_schema(TABLES["exchanges"]))
        files = staged(made, batch, "exchanges", rows, by=("day", "broker"))
        made.commit_batch(batch, files, {}, {})
    return made


def test_what_directories_tell_has_its_type(directory: StreamDirectory) -> None:
    found = dataset_of(directory.root, "exchanges")
    assert found.schema.equals(arrow_schema(TABLES["exchanges"]))
    table = found.to_table(columns=["day", "broker", "exchange"])
    assert table.to_pylist() == ROWS
    assert found.to_table(filter=pc.field("day") == DAY_TWO).num_rows == 3
    assert found.to_table(filter=pc.field("broker") == "[::1]:9092").num_rows == 2


def test_duckdb_reads_the_same(directory: StreamDirectory) -> None:
    rows = duckdb.read_parquet(
        committed_files(directory.root, "exchanges"), hive_partitioning=True, union_by_name=True
    )
    found = rows.select("exchange, broker").order("exchange").fetchall()
    assert found == [(row["exchange"], row["broker"]) for row in ROWS]


def test_a_table_without_files_has_its_columns(directory: StreamDirectory, tmp_path: Path) -> None:
    for root in (directory.root, str(tmp_path / "nothing")):
        found = dataset_of(root, "rates")
        assert found.schema.equals(arrow_schema(TABLES["rates"]))
        assert found.count_rows() == 0
        assert committed_files(root, "rates") == []
    assert not (tmp_path / "nothing").exists()


def test_urls_stay_urls(directory: StreamDirectory) -> None:
    url = f"file://{directory.root.replace('=', '%3D')}"
    assert len(committed(url)) == 6
    assert committed_files(url, "exchanges")[0].startswith(f"{url}/exchanges/day=2026-03-01/")
    assert dataset_of(url, "exchanges").to_table(columns=["day"])["day"].to_pylist()[0] == date(2026, 3, 1)
