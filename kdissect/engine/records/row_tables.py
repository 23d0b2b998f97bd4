"""Rows of records as Arrow tables.

Needs pyarrow (extra `arrow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from json import dumps
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_rows import RecordRows, TopicNames

if TYPE_CHECKING:
    from kdissect.engine.records.record_values import RecordValues

# Rows are tuples of half a KB, without the bytes of their keys and values.
_ROWS_AT_ONCE = 20_000
_BYTES_AT_ONCE = 8 << 20
_HALF = 1 << 63
_MAY_PASS_64_BITS = ("offset", "raw_offset", "last_offset", "timestamp_ms")
_TIMES = (
    ("time", "time_ns"),
    *((name, f"{name}_ms") for name in ("timestamp", "max_timestamp", "last_timestamp")),
)


def table_rows(
    files: Sequence[str],
    forms: tuple[str | None, str | None],
    show_secrets: bool = False,
    topic_name: TopicNames | None = None,
    values: RecordValues | None = None,
) -> RecordRows:
    """Return a row maker for tables of `arrow_schema`: `forms` are the forms of key and value
    (None: bytes).
    """
    key, value = ("raw" if form is None else f"{form} only" for form in forms)
    return RecordRows(files, key, value, show_secrets, topic_name, time_form=_no_text, values=values)


def _no_text(_time_ns: int) -> None:
    """`arrow_row` puts the number there."""


class RowBuffer:
    """Rows that went through `arrow_row`, until they become a table of `schema`."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._names = schema.names
        self._rows: list[tuple[Any, ...]] = []
        self._bytes = 0

    def add(self, row: Row) -> bool:
        """Buffer a row. Return whether `take` is due because the buffer is full."""
        self._rows.append(tuple(map(row.get, self._names)))
        self._bytes += (row.get("key_bytes") or 0) + (row.get("value_bytes") or 0)
        return len(self._rows) == _ROWS_AT_ONCE or self._bytes >= _BYTES_AT_ONCE

    def take(self) -> Iterator[Any]:
        """Empty the buffer: one table, or none if the buffer is empty."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            kinds = zip(columns, self._schema, strict=True)
            arrays = [pa.array(column, field.type) for column, field in kinds]
            self._rows, self._bytes = [], 0
            yield pa.Table.from_arrays(arrays, schema=self._schema)


def in_tables(rows: Iterable[Row], schema: Any) -> Iterator[Any]:
    """Yield rows from `arrow_row` as tables, with as many rows together as memory allows."""
    buffer = RowBuffer(schema)
    for row in rows:
        if buffer.add(row):
            yield from buffer.take()
    yield from buffer.take()


def arrow_row(row: Row) -> Row:
    """Return times as numbers, what an own record holds as JSON.

    Integers beyond 64 bits wrap as they do in columns and in Java.
    """
    for name in _MAY_PASS_64_BITS:
        value = row.get(name)
        if value is not None and not -_HALF <= value < _HALF:
            row[name] = (value + _HALF) % (2 * _HALF) - _HALF
    for name, number in _TIMES:
        if name in row:
            row[name] = row[number]
    file = row.get("file")
    if file is not None and not file.isascii():
        row["file"] = arrow_text(file)
    if "decoded" in row:
        row["decoded"] = dumps(row["decoded"], ensure_ascii=False)
    for header in row.get("headers") or ():
        if not isinstance(header["key"], str):
            header["key"] = header["key"].decode("utf-8", "backslashreplace")
    return row


def arrow_text(text: str) -> str:
    """Return the name of a file, which is any bytes, as Arrow takes it."""
    return text.encode("utf-8", "replace").decode()
