"""Rows as a Parquet file, a column for each name. Needs pyarrow (extra `arrow`)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.cli.formats.named_fields import Room, as_columns
from kdissect.engine.row_columns import Column
from kdissect.report.cells import cell

_TYPES: dict[str, Any] = {
    "int8": pa.int64(), "int16": pa.int64(), "int32": pa.int64(), "int64": pa.int64(), "bool": pa.bool_(),
    "double": pa.float64(), "string": pa.string(), "list<string>": pa.list_(pa.string()),
    "list<int64>": pa.list_(pa.int64()), "list<bool>": pa.list_(pa.bool_()),
    "list<double>": pa.list_(pa.float64()),
}  # fmt: skip
_ROWS_AT_ONCE = 20_000
_HALF = 1 << 63  # what an int64 is below


class ParquetFormat:
    """Columns of one type each: `types` by the names of `RowField`. Other columns are text, as in TSV."""

    end = b""
    is_stripped = False

    def __init__(self, columns: Sequence[str | Column], types: Mapping[str, str]) -> None:
        self._columns = list({column.name: column for column in as_columns(columns)}.values())
        self._types = [types.get(column.place, "") for column in self._columns]
        self._schema = pa.schema(
            [
                (column.name, _TYPES.get(type_, pa.string()))
                for column, type_ in zip(self._columns, self._types, strict=True)
            ]
        )
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(self._sink, self._schema, compression="lz4", store_schema=False)
        self._rows: list[list[Any]] = []
        self.values: list[str] | None = None  # no line is like another

    def head(self) -> bytes:
        """Nothing yet."""
        return b""

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row, held back until there are enough."""
        self._rows.append(
            [
                _value(column.value(row), type_)
                for column, type_ in zip(self._columns, self._types, strict=True)
            ]
        )
        return b"" if len(self._rows) < _ROWS_AT_ONCE else self._written()

    def tail(self) -> bytes:
        """Return the rows held back, and the end of the file."""
        first = self._written()
        self._writer.close()
        return first + self._taken()

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """None: there are no lines."""
        raise NotImplementedError

    def room(self, at: int, row: dict[str, Any]) -> Room:
        """None."""
        raise NotImplementedError

    def _written(self) -> bytes:
        held, self._rows = self._rows, []
        if held:
            columns = zip(*held, strict=True)
            arrays = [
                pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)
            ]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        return self._taken()

    def _taken(self) -> bytes:
        return self._sink.take()


def _value(value: Any, type_: str) -> Any:
    if value is None or type_ in ("bool", "double"):
        return value
    if type_.startswith("int"):
        return value if -_HALF <= value < _HALF else None
    if type_ != "list<string>" and type_.startswith("list<") and type_ in _TYPES:
        items = value if isinstance(value, (list, tuple)) else [value]
        return [_value(item, type_[5:-1]) for item in items]
    if type_ == "list<string>":
        return [str(item).encode("utf-8", "replace").decode() for item in value]
    text = value if isinstance(value, str) else cell(value)
    return text.encode("utf-8", "replace").decode()  # file names may hold what is no text


class _Sink(io.RawIOBase):
    """Buffers written bytes until they are taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def write(self, data: Any) -> int:
        """Hold bytes."""
        content = bytes(data)
        self._parts.append(content)
        self._written += len(content)
        return len(content)

    def tell(self) -> int:
        """Return bytes so far."""
        return self._written

    def writable(self) -> bool:
        """Yes."""
        return True

    def take(self) -> bytes:
        """Return the buffered bytes, and clear the buffer."""
        data = b"".join(self._parts)
        self._parts.clear()
        return data
