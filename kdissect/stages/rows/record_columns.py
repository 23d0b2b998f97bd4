"""Rows of the table `records` as columns: the native engine decodes a records field, and its keys and values
by the schemas of the user. Compiled only.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.compiled_tables import CompiledTables
from kdissect.engine.records.compiled_values import CompiledValues
from kdissect.engine.records.record_rows import TopicNames
from kdissect.engine.records.record_schema import arrow_schema as columns_of_rows
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.records.row_tables import table_rows
from kdissect.engine.records.topic_schemas import TopicSchemas
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.model.anomaly import Anomaly
from kdissect.serdes.schemas import Schemas
from kdissect.stages.rows.timestamps import set_timestamps

_FORMS = (None, None)  # bytes, as the table has them
_TABLE = TABLES["records"]


class RecordColumns:
    """Takes records fields, and gives batches of the table `records`."""

    def __init__(
        self, files: Sequence[str], topic_name: TopicNames, values: RecordValues, schemas: Schemas
    ) -> None:
        rows = table_rows(files, _FORMS, topic_name=topic_name, values=values)
        decoded = CompiledValues(schemas, TopicSchemas(), "spaced", has_cells=False)
        self._records = CompiledTables(
            columns_of_rows(*_FORMS, with_schemas=True), _FORMS, files, rows, _count_elsewhere, _refuse,
            topic_name, values=decoded,
        ).records  # fmt: skip
        self._found: list[Any] = []
        self._heads: list[Row] = []
        self._numbers = array("i")
        """For each row the number of its head."""
        self.bytes = 0

    def add(self, records: RecordSet, head: Row) -> None:
        """Take the rows of a field, all of which have the columns of `head`."""
        self._records.add(records)
        for found in self._records.close():
            self._found.append(found)
            self._numbers.extend(array("i", [len(self._heads)]) * found.num_rows)
            self.bytes += found.nbytes
        self._heads.append(dict(head))

    def rows(self, _table: str) -> int:
        """Return how many rows there are."""
        return len(self._numbers)

    def take(self, _table: str) -> Any:
        """Return the rows as a record batch, and forget them."""
        table, heads, numbers = pa.concat_tables(self._found), self._heads, self._numbers
        self._found, self._heads, self._numbers, self.bytes = [], [], array("i"), 0
        set_timestamps(_TABLE, heads)
        at = pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])
        schema = arrow_schema(_TABLE)
        arrays = [_column(field, table, heads, at).combine_chunks() for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(field: Any, table: Any, heads: list[Row], at: Any) -> Any:
    if field.name in heads[0] and field.name != "timestamp":
        return pa.chunked_array([pa.array([head[field.name] for head in heads], field.type).take(at)])
    column = table.column(field.name)
    if field.name == "timestamp":
        return _microseconds(column, field.type)
    return column if column.type == field.type else column.cast(field.type)


def _microseconds(column: Any, kind: Any) -> Any:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:  # producers write any number
        rows: list[Row] = [{"timestamp_ms": value} for value in column.cast(pa.int64()).to_pylist()]
        set_timestamps(_TABLE, rows)
        return pa.chunked_array([[row["timestamp"] for row in rows]], kind)


def _count_elsewhere(_found: list[Anomaly]) -> None:
    """Anomalies are rows of another table."""


def _refuse(error: Exception, _exchange: object) -> NoReturn:
    raise error
