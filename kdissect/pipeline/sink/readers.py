"""Readers of the tables' committed files. They ignore every other file in the directory.

    from kdissect.pipeline.sink.readers import committed_files, dataset_of
    dataset_of("out", "exchanges").to_table(filter=pc.field("api") == "Fetch")
    duckdb.read_parquet(committed_files("out", "rates"), hive_partitioning=True, union_by_name=True)

For tables of `kdissect tables`, `pipeline run` and `pipeline watch`. A list of files stays good for a while
after other files took their place (`table_directory.GRACE_S`): ask again for each query.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import dataset

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.sink.entry import Entry
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.hive_partitions import values_of


def committed(output: str, table: str | None = None) -> list[Entry]:
    """Return the files of a directory or URL, of all tables or one, or no files if none was committed.

    Raises OSError, or NewerTablesError if a newer kdissect wrote them.
    """
    return StreamDirectory(*filesystem_of(output)).entries(table)


def committed_files(output: str, table: str) -> list[str]:
    """Return paths of a table's files, as `output` is written, for DuckDB and pandas. Raises OSError."""
    return [f"{output.rstrip('/')}/{entry.path}" for entry in committed(output, table)]


def dataset_of(output: str, table: str) -> Any:
    """Return a `pyarrow.dataset.Dataset` of a table, with this version's columns. Raises OSError.

    Columns that older files lack are null. Columns from the names of directories have their types.
    """
    filesystem, root = filesystem_of(output)
    entries = StreamDirectory(filesystem, root).entries(table)
    schema = arrow_schema(TABLES[table]) if table in TABLES else None
    return _dataset_of_files(filesystem, root, entries, schema)


def _dataset_of_files(filesystem: Any, root: str, entries: list[Entry], schema: Any) -> Any:
    """Return a dataset of some files below a root. Without a schema it has the schema of the first file."""
    told = {name: None for entry in entries for name in values_of(entry.directory)}
    partitions: Any = "hive"
    if schema is not None:
        partitions = dataset.partitioning(pa.schema([schema.field(name) for name in told]), flavor="hive")
    return dataset.dataset(
        [f"{root}/{entry.path}" for entry in entries],
        schema=schema,
        format="parquet",
        filesystem=filesystem,
        partitioning=partitions if told else None,
        partition_base_dir=f"{root}/{entries[0].table}" if entries else None,
    )
