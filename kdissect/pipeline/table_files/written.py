"""What a task tells Spark about the files it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.pipeline.table_files.parquet_parts import WrittenFile

WRITTEN_DDL = "table STRING, directory STRING, path STRING, rows BIGINT, bytes BIGINT, has_ids BOOLEAN"


def written_batch(files: Sequence[WrittenFile]) -> Any:
    """Files as rows of `WRITTEN_DDL`."""
    import pyarrow as pa

    names = WrittenFile._fields
    types = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.int64(), pa.bool_())
    columns = zip(*files, strict=True) if files else ((),) * len(names)
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))
