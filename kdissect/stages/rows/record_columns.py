"""Rows of the table `records` as columns: the native engine decodes a records field, and its keys and values
by the schemas of the user. Compiled only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.compiled_tables import CompiledTables
from kdissect.engine.records.compiled_values import CompiledValues
from kdissect.engine.records.record_rows import RecordRows, TopicNames
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
_MAX_ROWS = 8192  # of some 200 bytes each
_MAX_BYTES = 16 << 20
_MAX_STORED = 1 << 20  # bytes of records fields, as the wire has them


class RecordColumns:
    """Takes records fields, and gives batches of the table `records`.

    Fields are decoded many at a time: the columns of one field take longer than its records. Meanwhile, the
    column `partition` has the number of the field's head, and the head has the partition.
    """

    def __init__(
        self, files: Sequence[str], topic_name: TopicNames, values: RecordValues, schemas: Schemas
    ) -> None:
        rows = _HeadRows(table_rows(files, _FORMS, topic_name=topic_name, values=values))
        decoded = CompiledValues(schemas, TopicSchemas(), "spaced", has_cells=False)
        self._records = CompiledTables(
            columns_of_rows(*_FORMS, with_schemas=True), _FORMS, files, rows, _count_elsewhere, _refuse,
            topic_name, values=decoded,
        ).records  # fmt: skip
        self._numbers = rows.numbers
        self._found: list[Any] = []
        self._heads: list[Row] = []
        self._rows = self._bytes = self._stored_bytes = 0

    def add(self, records: RecordSet, head: Row) -> bool:
        """Take the rows of a field, all of which have the columns of `head`; return whether `take` is due."""
        field = records.records_field
        self._numbers[records] = number = len(self._heads)
        self._heads.append(dict(head))
        self._stored_bytes += field.end - field.start
        is_enough = self._records.add(records, field._replace(partition=number))
        # The name of a topic may be known later, and its schemas with it.
        if is_enough or self._stored_bytes >= _MAX_STORED or head["topic"] is None:
            self._decode()
        return self._rows >= _MAX_ROWS or self._bytes >= _MAX_BYTES

    def rows(self, _table: str) -> int:
        """Return how many rows there are."""
        self._decode()
        return self._rows

    def _decode(self) -> None:
        if not self._numbers:
            return
        for found in self._records.close():
            self._found.append(found)
            self._rows += found.num_rows
            self._bytes += found.nbytes
        self._numbers.clear()
        self._stored_bytes = 0

    def take(self, _table: str) -> Any:
        """Return the rows as a record batch, and forget them."""
        table, heads = pa.concat_tables(self._found), self._heads
        self._found, self._heads, self._rows, self._bytes = [], [], 0, 0
        set_timestamps(_TABLE, heads)
        at = table.column("partition")
        schema = arrow_schema(_TABLE)
        arrays = [_column(field, table, heads, at).combine_chunks() for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(field: Any, table: Any, heads: list[Row], at: Any) -> Any:
    if field.name in heads[0] and field.name != "timestamp":
        return pa.array([head[field.name] for head in heads], field.type).take(at)
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


class _HeadRows:
    """Rows of fields that are left to Python, with the number of the field's head as their partition."""

    def __init__(self, rows: RecordRows) -> None:
        self._rows = rows
        self.numbers: dict[RecordSet, int] = {}
        """The heads of stored fields."""

    def rows(self, records: RecordSet, anomalies: list[Anomaly], /) -> Iterator[Row]:
        """Yield the rows of a field."""
        number = self.numbers[records]
        for row in self._rows.rows(records, anomalies):
            row["partition"] = number
            yield row


def _count_elsewhere(_found: list[Anomaly]) -> None:
    """Anomalies are rows of another table."""


def _refuse(error: Exception, _exchange: object) -> NoReturn:
    raise error
