"""Tables of a run, read as anybody would, against those of one process, row by row."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kdissect.api import Dissection
from kdissect.causes.cause_stage import CauseStage
from kdissect.engine.records.record_values import values_by
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.inputs import find
from kdissect.pipeline.job import Job, Summary, run
from kdissect.pipeline.task_setup import Setup
from kdissect.serdes.schemas import Schemas
from kdissect.stages.one_process import produce
from tests.pipeline.frames import Frames

_PARTITIONS = ds.partitioning(pa.schema([("day", pa.date32()), ("broker", pa.string())]), flavor="hive")
Rows = list[dict[str, Any]]


def of_run(output: Path, table: str) -> Rows:
    """Return rows of a table of a run: none where it has no files, as there is nothing to write."""
    if not (output / table).is_dir():
        return []
    found = ds.dataset(output / table, format="parquet", partitioning=_PARTITIONS).to_table()
    return _sorted(table, [found.select(arrow_schema(TABLES[table]).names)])


def of_stream(output: Path, table: str) -> Rows:
    """Return rows of a table of a stream: those in files that the manifest names."""
    named = json.loads((output / "_kdissect.json").read_text())["files"]
    paths = [str(output / file["path"]) for file in named if file["table"] == table]
    found = ds.dataset(
        paths, format="parquet", partitioning=_PARTITIONS, partition_base_dir=str(output / table)
    )
    columns = arrow_schema(TABLES[table])
    return _sorted(table, [found.to_table().select(columns.names)] if paths else [])


def compare(
    paths: Sequence[Path],
    output: Path,
    keys: Sequence[str] = (),
    tables: Collection[str] = TABLES,
    parts: int = 5,
    schemas: Schemas | None = None,
) -> Summary:
    """Run the tasks of a run, here without Spark, and hold each table to that of one process."""
    inputs = find([str(path) for path in paths])
    setup = Setup.of(inputs, key_logs=tuple(keys))._replace(schemas=schemas)
    job = Job(inputs, setup, str(output), frozenset(tables), ("day", "broker"), parts)
    summary = run(Frames(), job)  # type: ignore[arg-type]
    one = of_one_process(paths, keys, schemas)
    for table in tables:
        assert of_run(output, table) == one[table], table
    return summary


def of_one_process(
    paths: Sequence[Path], key_logs: Sequence[str] = (), schemas: Schemas | None = None
) -> dict[str, Rows]:
    """Return rows of all tables."""
    made: dict[str, list[Any]] = {name: [] for name in TABLES}
    dissection = Dissection([str(path) for path in paths], key_logs=key_logs)
    for table, batch in produce(dissection, frozenset(TABLES), causes=CauseStage, values=values_by(schemas)):
        made[table].append(pa.Table.from_batches([batch]))
    return {table: _sorted(table, parts) for table, parts in made.items()}


def _sorted(table: str, parts: Iterable[Any]) -> Rows:
    """By identity, nulls first; lists are of no type that Arrow sorts by."""
    identity = TABLES[table].identity
    rows = [row for part in parts for row in part.to_pylist()]
    return sorted(rows, key=lambda row: [_sortable(row[name]) for name in identity])


def _sortable(value: Any) -> Any:
    if isinstance(value, list):
        return True, [_sortable(one) for one in value]
    return value is not None, value
