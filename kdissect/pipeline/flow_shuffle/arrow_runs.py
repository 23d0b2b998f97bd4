"""Runs as Arrow record batches, the form in which they go through Spark."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kdissect.pipeline.flow_shuffle.run import Run

RUN_SCHEMA = pa.schema(
    [
        ("part", pa.int32()),
        ("key", pa.binary()),
        ("order_ns", pa.int64()),
        ("ref", pa.int64()),
        ("data", pa.binary()),
    ]
)
RUN_DDL = "part INT, key BINARY, order_ns BIGINT, ref BIGINT, data BINARY"
# Of the bytes in a batch on its way out of Python.
BATCH_BYTES = 8 << 20


def to_batches(runs: Iterable[Run]) -> Iterator[Any]:
    """Record batches of some 8 MiB."""
    kept: list[Run] = []
    size = 0
    for run in runs:
        kept.append(run)
        size += len(run.data)
        if size >= BATCH_BYTES:
            yield _batch(kept)
            kept, size = [], 0
    if kept:
        yield _batch(kept)


def from_batches(batches: Iterable[Any]) -> Iterator[Run]:
    """The runs of record batches, one at a time."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in RUN_SCHEMA.names]
        yield from map(Run._make, zip(*columns, strict=True))


def _batch(runs: list[Run]) -> Any:
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*runs, strict=True), RUN_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RUN_SCHEMA)
