"""What a reducing task does: the events of its flows become rows, and rows become Parquet files.

It writes the files itself and hands Spark their names: one pass fills all tables, whatever their columns, and
what a task that failed half-way has written is never named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

from kdissect.pipeline.arrow_runs import from_batches
from kdissect.pipeline.connections import flows
from kdissect.pipeline.news import News
from kdissect.pipeline.output_place import filesystem_of
from kdissect.pipeline.parquet_parts import ParquetParts, WrittenFile
from kdissect.pipeline.setup import Setup
from kdissect.pipeline.task_tables import TaskTables

WRITTEN_DDL = "table STRING, directory STRING, path STRING, rows BIGINT, bytes BIGINT"


class Reduction:
    """The function of the task, for `mapInArrow`. `staging` is where it writes."""

    def __init__(
        self, setup: Setup, staging: str, tables: frozenset[str], partition_by: tuple[str, ...]
    ) -> None:
        self._setup = setup
        self._staging = staging
        self._tables = tables
        self._partition_by = partition_by

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        filesystem, root = filesystem_of(self._staging)
        parts = ParquetParts(filesystem, root, self._partition_by, uuid4().hex[:12])
        news = News()
        tables = TaskTables(self._setup.files, self._tables)
        for events in flows(from_batches(batches), self._setup, news):
            for placed in events:
                tables.add(placed)
            for table, batch in tables.take():
                parts.add(table, batch)
        tables.add_files(news.files)
        for table, batch in tables.close():
            parts.add(table, batch)
        yield written_batch(parts.close())


def written_batch(files: list[WrittenFile]) -> Any:
    """Files as rows of `WRITTEN_DDL`."""
    import pyarrow as pa

    names = ("table", "directory", "path", "rows", "bytes")
    types = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.int64())
    columns = zip(*files, strict=True) if files else ((),) * len(names)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)], names=list(names)
    )
