"""Rows of tables as Arrow: record batches of their schemas. Needs pyarrow (extra `arrow`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.table import Table
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stages.rows.compiled_rows import CompiledRows
from kdissect.stages.rows.record_columns import RecordColumns
from kdissect.stages.rows.timestamps import set_timestamps

DAY_NS = 86_400_000_000_000
# Rows kept as Python objects before they become Arrow: up to 6 KB each, and the bytes of records in them.
BATCH_ROWS = 1024
BATCH_BYTES = 16 << 20
COLUMN_ROWS = 8 * BATCH_ROWS  # of some 200 bytes each
_NO_TABLES: Mapping[str, Table] = {}
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class Columns(Protocol):
    """Rows stored as columns, of one or several tables."""

    def rows(self, table: str) -> int:
        """Return how many rows there are of a table."""

    def take(self, table: str) -> Any:
        """Return the rows of a table as a record batch, and empty the table."""


class ConnectionColumns(Columns, Protocol):
    """Rows of connections, stored as columns."""

    def add(self, info: ConnectionInfo, order: bytes) -> bool:
        """Add the row of a connection; return False, without adding it, if the row maker must do so."""


class TableRows:
    """Collects rows by table; `take` returns full batches, `close` the remaining rows. `own` are further
    tables besides TABLES.
    """

    def __init__(self, tables: Iterable[str], own: Mapping[str, Table] = _NO_TABLES) -> None:
        self.tables = frozenset(tables)
        self._of = {name: table for name, table in {**TABLES, **own}.items() if name in self.tables}
        self._rows: dict[str, list[Row]] = {name: [] for name in self._of}
        self._bytes = dict.fromkeys(self._rows, 0)
        self._ready: list[tuple[str, Any]] = []
        self._compiled: CompiledRows | None = None
        self._syns: ConnectionColumns | None = None
        self._columns: dict[str, Columns] = {}
        self._records: RecordColumns | None = None
        # Number of each stored row among the rows of its table, if other rows are columns.
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)

    def keep_in(
        self, compiled: CompiledRows | None, syns: ConnectionColumns, records: RecordColumns | None = None
    ) -> None:
        """Give out the rows of these as well, in the order in which they came."""
        self._compiled, self._syns, self._records = compiled, syns, records
        if records is not None:
            self._columns["records"] = records
        self._columns["connections"] = syns
        if compiled is not None:
            self._columns |= dict.fromkeys(CompiledRows.NAMES, compiled)

    def connection(self, info: ConnectionInfo, order: bytes) -> bool:
        """Take an ended connection as columns; return False, without taking it, if that is impossible."""
        syns = self._syns
        if syns is None or not syns.add(info, order):
            return False
        if syns.rows("connections") >= COLUMN_ROWS:
            self._flush("connections")
        return True

    def exchange(self, exchange: Exchange, order: bytes) -> bool:
        """Take an exchange as columns; return False, without taking it, if that is impossible."""
        columns = self._compiled
        if columns is None or not columns.add(exchange, order):
            return False
        self._flush_columns(columns)
        return True

    def exchange_block(self, block: native.ExchangeBlock, start: int, number_of: Callable[[int], int]) -> int:
        """Take exchanges of a block as columns, from one on, and return the number of the next one that needs
        rows, or the block's length. `number_of` gives for a file its number in its capture set.
        """
        columns = self._compiled
        if columns is None:
            return start
        while True:
            start = columns.add_block(block, start, number_of, COLUMN_ROWS)
            if not self._flush_columns(columns):
                return start

    def _flush_columns(self, columns: CompiledRows) -> bool:
        full = [table for table in CompiledRows.NAMES if columns.rows(table) >= COLUMN_ROWS]
        for table in full:
            self._flush(table)
        return bool(full)

    def add(self, table: str, row: Row, size: int = 0) -> None:
        """Take a row of a table that is wanted; `size` are the bytes of records in it."""
        rows = self._rows[table]
        columns = self._columns.get(table)
        if columns is not None:
            self._numbers[table].append(len(rows) + columns.rows(table))
        rows.append(row)
        self._bytes[table] += size
        if len(rows) >= BATCH_ROWS or self._bytes[table] >= BATCH_BYTES:
            self._flush(table)  # at once: one exchange may have a million records

    def records(self, records: RecordSet, head: Row) -> bool:
        """Take the records of a field as columns; return False, without taking them, if rows are needed."""
        columns = self._records
        if columns is None:
            return False
        if columns.add(records, head):
            self._flush("records")
        return True

    def take(self) -> Iterator[tuple[str, Any]]:
        """Return the full batches, as (table, record batch)."""
        ready, self._ready = self._ready, []
        return iter(ready)

    def close(self) -> Iterator[tuple[str, Any]]:
        """Return the remaining rows."""
        for table in self._rows:
            self._flush(table)
        return self.take()

    def _flush(self, table: str) -> None:
        rows, self._rows[table], self._bytes[table] = self._rows[table], [], 0
        numbers, columns = self._numbers.pop(table, []), self._columns.get(table)
        if columns is not None and columns.rows(table):
            self._ready.append((table, _merged(columns.take(table), self._of[table], rows, numbers)))
        elif rows:
            self._ready.append((table, batch_of(self._of[table], rows)))


def _merged(columns: Any, table: Table, rows: list[Row], numbers: list[int]) -> Any:
    """Return a batch and rows as one batch, in which the rows have these numbers, which rise."""
    if not rows:
        return columns
    own, parts, taken, first = batch_of(table, rows), [], 0, 0
    for place in range(1, len(rows) + 1):
        if place < len(rows) and numbers[place] == numbers[place - 1] + 1:
            continue
        before = numbers[first] - first  # the number of the columns' rows before these
        parts += [columns.slice(taken, before - taken), own.slice(first, place - first)]
        taken, first = before, place
    parts.append(columns.slice(taken))
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def batch_of(table: Table, rows: list[Row]) -> Any:
    """Return rows as a record batch of the table's schema, and set their timestamps. Counts by name are
    sorted by name.
    """
    set_timestamps(table, rows)
    schema = arrow_schema(table)
    try:
        return pa.RecordBatch.from_pylist(rows, schema=schema)
    except OverflowError:  # between packets of 1677 and 2262 lies more than 64 bits of nanoseconds
        return pa.RecordBatch.from_pylist([_held(row) for row in rows], schema=schema)


def _held(value: Any) -> Any:
    """Return a value with all numbers inside int64; those beyond at its limits."""
    if isinstance(value, int):
        return max(_LEAST, min(value, _MOST))
    if isinstance(value, dict):
        return {name: _held(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        held = [_held(each) for each in value]
        return held if isinstance(value, list) else tuple(held)  # pairs of a map column are tuples
    return value


def counts(held: dict[str, int]) -> list[tuple[str, int]]:
    """Return counts by name as a map column takes them: sorted, so that equal counts are equal columns."""
    return sorted(held.items())


def when(row: Row, time_ns: int | None) -> Row:
    """Add the columns of a time, but for its timestamp."""
    row["time_ns"] = time_ns
    row["day"] = None if time_ns is None else time_ns // DAY_NS
    return row
