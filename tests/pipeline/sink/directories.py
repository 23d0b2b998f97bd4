"""Places to commit to, and rows of tables that are told apart by a number."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile

DAY_ONE = date(2026, 3, 1)
DAY_TWO = date(2026, 3, 2)


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def directory_at(
    root: Path, filesystem: Any = None, grace_s: float = 300.0, clock: Any = None
) -> StreamDirectory:
    return StreamDirectory(filesystem or fs.LocalFileSystem(), str(root), grace_s, clock or Clock())


def rates(numbers: Sequence[int], day: date = DAY_ONE) -> Any:
    """Return rows of `rates`, each with a number as its exchanges."""
    rows = [{"capture_set": "a", "time_ns": number, "day": day, "exchanges": number} for number in numbers]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(TABLES["rates"]))


def topics(*names: str) -> Any:
    rows = [{"capture_set": "a", "topic": name} for name in names]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(TABLES["topics"]))


def staged(
    directory: StreamDirectory, batch: int, table: str, *rows: Any, by: tuple[str, ...] = ()
) -> list[WrittenFile]:
    """Return a file with each of the rows, as tasks of a batch write them."""
    files: list[WrittenFile] = []
    for number, each in enumerate(rows):
        parts = ParquetParts(directory.filesystem, directory.staging(batch), by, f"task{number}")
        parts.add(table, each)
        files += parts.close()
    return files


def commit(
    directory: StreamDirectory, batch: int, numbers: Sequence[int], name: str, day: date = DAY_ONE
) -> None:
    """Commit a batch that appends to `rates` and replaces `topics`."""
    directory.commit_batch(
        batch,
        staged(directory, batch, "rates", *(rates([number], day) for number in numbers), by=("day",)),
        {"topics": staged(directory, batch, "topics", topics(name))},
        {"inputs": [f"file{batch}"]},
    )
