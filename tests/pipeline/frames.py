"""What the pipeline asks of Spark's DataFrames, in memory: partitions, sorting, functions over batches.

It stands in for Spark where a test is about what tasks make, so that it takes no JVM; `test_job.py` runs the
same on Spark.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

_TYPES = {
    "INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string(), "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
}  # fmt: skip


class Frames:
    """The session. Rows reach a partition in an order of their own, as they do over a network."""

    sparkContext = SimpleNamespace(defaultParallelism=2)  # noqa: N815  Spark's name

    def __init__(self, seed: int = 1) -> None:
        self._dice = random.Random(seed)

    def range(self, start: int, end: int, step: int, parts: int) -> _Frame:
        """Return numbers, each in a partition of its own; the last one first."""
        assert (start, step, parts) == (0, 1, end)
        schema = pa.schema([("id", pa.int64())])
        return _Frame(self._dice, [pa.table({"id": [number]}, schema=schema) for number in range(end)[::-1]])

    def createDataFrame(self, rows: Iterable[tuple[Any, ...]], ddl: str) -> _Frame:  # noqa: N802
        """Return a frame of one partition."""
        schema = _schema(ddl)
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return _Frame(self._dice, [pa.Table.from_arrays(arrays, schema=schema)])


class _Frame:
    def __init__(self, dice: random.Random, parts: list[Any]) -> None:
        self._dice = dice
        self._parts = parts

    def repartitionById(self, count: int, column: str) -> _Frame:  # noqa: N802
        whole = pa.concat_tables(self._parts)
        whole = whole.take(pa.array(self._dice.sample(range(whole.num_rows), whole.num_rows), pa.int64()))
        numbers = whole.column(column).to_pylist()
        places = [
            [row for row, number in enumerate(numbers) if number % count == part] for part in range(count)
        ]
        return _Frame(self._dice, [whole.take(pa.array(rows, pa.int64())) for rows in places])

    def sortWithinPartitions(self, *columns: str) -> _Frame:  # noqa: N802
        order = [(column, "ascending") for column in columns]
        return _Frame(self._dice, [part.sort_by(order) for part in self._parts])

    def mapInArrow(self, function: Callable[[Iterator[Any]], Iterator[Any]], ddl: str) -> _Frame:  # noqa: N802
        schema = _schema(ddl)
        sent = pickle.dumps(function)  # each task has its own
        made = [list(pickle.loads(sent)(iter(part.to_batches(max_chunksize=100)))) for part in self._parts]
        return _Frame(self._dice, [pa.Table.from_batches(batches, schema=schema) for batches in made])

    def collect(self) -> list[tuple[Any, ...]]:
        rows = [row for part in self._parts for row in part.to_pylist()]
        return [tuple(row.values()) for row in rows]


def _schema(ddl: str) -> Any:
    return pa.schema([(name, _TYPES[kind]) for name, kind in (part.split() for part in ddl.split(","))])
