"""Rows of tables as Arrow: record batches of their schemas. Needs pyarrow (extra `arrow`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kdissect.engine.rows import Row
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.registry import TABLES

US = 1000
DAY_NS = 86_400_000_000_000
# Rows kept as Python objects before they become Arrow: 1 KB each.
BATCH_ROWS = 4096


class TableRows:
    """Collects rows by table; `take` gives batches that are full, `close` the rest."""

    def __init__(self, tables: Iterable[str]) -> None:
        self.tables = frozenset(tables)
        self._rows: dict[str, list[Row]] = {name: [] for name in TABLES if name in self.tables}

    def add(self, table: str, row: Row) -> None:
        """Take a row of a table that is wanted."""
        self._rows[table].append(row)

    def take(self) -> Iterator[tuple[str, Any]]:
        """What has come together, as (table, record batch)."""
        for table, rows in self._rows.items():
            if len(rows) >= BATCH_ROWS:
                yield table, batch_of(table, rows)
                rows.clear()

    def close(self) -> Iterator[tuple[str, Any]]:
        """The rest."""
        for table, rows in self._rows.items():
            for start in range(0, len(rows), BATCH_ROWS):
                yield table, batch_of(table, rows[start : start + BATCH_ROWS])
            rows.clear()


def batch_of(table: str, rows: list[Row]) -> Any:
    """Rows as a record batch of the table's schema. Counts by name are sorted by name."""
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(TABLES[table]))


def counts(held: dict[str, int]) -> list[tuple[str, int]]:
    """Counts by name as a map column takes them: sorted, so that equal counts are equal columns."""
    return sorted(held.items())


def when(row: Row, time_ns: int | None) -> Row:
    """Add the columns of a time."""
    row["time_ns"] = time_ns
    row["time"] = None if time_ns is None else time_ns // US
    row["day"] = None if time_ns is None else time_ns // DAY_NS
    return row
