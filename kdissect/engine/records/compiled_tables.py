"""Records fields to Arrow tables, decoded by the compiled hot path.

Needs pyarrow (extra `arrow`) and the compiled hot path.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.compiled_records import CompiledRecords
from kdissect.engine.records.record_rows import TopicNames
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.records.row_tables import RowBuffer, arrow_row, arrow_text
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import native
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.engine.records.compiled_values import CompiledValues

Buffers = list[bytes | None]


class RowMaker(Protocol):
    """Makes the rows of fields that are left to Python."""

    def rows(self, records: RecordSet, anomalies: list[Anomaly], /) -> Iterator[Row]:
        """Yield the rows of a field, and add faults to `anomalies`."""


class CompiledTables:
    """Tables of an `arrow_schema` with these forms of key and value.

    `rows` (from `row_tables.table_rows`) is for fields that are left to Python; `report` receives their
    faults. The other parameters are those of `CompiledRecords`.
    """

    def __init__(
        self,
        schema: Any,
        forms: tuple[str | None, str | None],
        files: Sequence[str],
        rows: RowMaker,
        report: Callable[[list[Anomaly]], None],
        note: Callable[[Exception, Exchange], None],
        topic_name: TopicNames | None = None,
        wants: Callable[[str], bool] | None = None,
        values: CompiledValues | None = None,
    ) -> None:
        self._schema = schema
        self._rows = rows
        self._buffer = RowBuffer(schema)
        """Rows of fields that follow each other: a table for each field would cost more than its rows."""
        self._report = report
        self._columns = native.RecordColumns(*forms, values is not None)
        self.records: CompiledRecords[Any] = CompiledRecords(
            self._columns, lambda file: arrow_text(files[file]), self._tables, self._by_rows, note,
            topic_name, wants, values,
        )  # fmt: skip
        self._count = 0

    def _by_rows(self, records: RecordSet) -> Iterator[Any]:
        anomalies: list[Anomaly] = []
        for row in self._rows.rows(records, anomalies):
            if self._buffer.add(arrow_row(row)):
                yield from self._buffered()
        self._report(anomalies)

    def _buffered(self) -> Iterator[Any]:
        yield from map(self._numbered, self._buffer.take())

    def _tables(self, is_last: bool) -> Iterator[Any]:
        """Yield the decoded tables so far, after buffered rows."""
        if is_last or self._columns.rows:
            yield from self._buffered()
        if not self._columns.rows:
            return
        columns, rows, headers = self._columns.take()
        made = _Columns(dict(columns), rows, headers, self._numbers(rows))
        yield pa.Table.from_arrays([made.array(field) for field in self._schema], schema=self._schema)

    def _numbers(self, rows: int) -> Any:
        """Return the numbers of the next rows."""
        first = self._count + 1
        self._count += rows
        numbers = array("q", range(first, first + rows))
        return pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(numbers)])

    def _numbered(self, table: Any) -> Any:
        """Return a table of rows, whose numbers count only rows, with numbers that count all."""
        numbers = self._numbers(table.num_rows)
        place = self._schema.get_field_index("number")
        return table if place < 0 else table.set_column(place, self._schema.field(place), numbers)


class _Columns:
    """Arrow arrays of buffers by the names of columns; `headers`: how many there are in all rows."""

    def __init__(self, buffers: dict[str, Buffers], rows: int, headers: int, numbers: Any) -> None:
        self._buffers = buffers
        self._rows = rows
        self._headers = headers
        self._numbers = numbers

    def array(self, field: Any) -> Any:
        """Return the array of a column."""
        name, kind = field.name, field.type
        if name == "number":
            return self._numbers
        if name == "headers":
            return self._lists(kind)
        buffers = self._buffers.get(_SOURCE.get(name, name))
        if buffers is None:
            return self._constant(name, kind)
        if pa.types.is_dictionary(kind):
            return self._dictionary(kind, buffers)
        return _array(kind, self._rows, buffers)

    def _constant(self, name: str, kind: Any) -> Any:
        """Return a column with equal values in all rows that are decoded here."""
        if name not in _CONSTANT:
            return pa.nulls(self._rows, kind)
        return _array(kind, self._rows, [None, _CONSTANT[name] * self._rows])

    def _dictionary(self, kind: Any, buffers: Buffers) -> Any:
        valid, codes, ends, texts = buffers
        known = _array(kind.value_type, len(ends or b"") // 4 - 1, [None, ends, texts])
        return pa.DictionaryArray.from_arrays(_array(kind.index_type, self._rows, [valid, codes]), known)

    def _lists(self, kind: Any) -> Any:
        pairs = kind.value_type
        parts = [
            _array(pairs.field(name).type, self._headers, self._buffers[f"headers.{name}"])
            for name in ("key", "value")
        ]
        structs = pa.StructArray.from_arrays(parts, fields=list(pairs))
        buffers = [None, pa.py_buffer(self._buffers["headers"][1])]
        return pa.Array.from_buffers(kind, self._rows, buffers, children=[structs])


# Columns with another column's buffers, in another unit or none, and columns of one value: magic 2, and the
# checksum, which is right (eight bits a byte, more than enough).
_SOURCE = {"time": "time_ns", "timestamp": "timestamp_ms"}
_CONSTANT = {"magic": b"\x02", "crc_ok": b"\xff"}


def _array(kind: Any, count: int, buffers: Buffers) -> Any:
    return pa.Array.from_buffers(
        kind, count, [None if each is None else pa.py_buffer(each) for each in buffers]
    )
