"""What a task makes of the events of its flows: rows of tables, as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.engine.connection_rows import connection_row
from kdissect.engine.event_order import Placed
from kdissect.engine.rows import ExchangeRows
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.registry import TABLES
from kdissect.pipeline.file_rows import note_empty
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange

# Rows kept as Python objects before they become Arrow: 1 KB each.
BATCH_ROWS = 4096
_US = 1000
_DAY_NS = 86_400_000_000_000


class TaskTables:
    """Takes events with `add`; `take` gives what is ready, `close` the rest, as (table, record batch)."""

    def __init__(self, files: Sequence[str], tables: frozenset[str]) -> None:
        self._exchanges = ExchangeRows(files)
        self._tables = tables
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in tables}

    def add(self, placed: Placed) -> None:
        order, event = placed
        if isinstance(event, Exchange):
            if "exchanges" in self._tables:
                self._rows["exchanges"].append(_exchange(self._exchanges.row(event), order))
        elif isinstance(event, ConnectionClosed) and "connections" in self._tables:
            row = connection_row(0, event.connection)
            row |= {"event_order": order, "start": row["start_ns"] // _US, "day": row["start_ns"] // _DAY_NS}
            self._rows["connections"].append(row)

    def add_files(self, rows: list[dict[str, Any]]) -> None:
        """Take rows of the table of files; all of them at once."""
        note_empty(rows)
        if "files" in self._tables:
            self._rows["files"] += rows

    def take(self) -> Iterator[tuple[str, Any]]:
        """What has come together."""
        for table, rows in self._rows.items():
            if len(rows) >= BATCH_ROWS:
                yield table, _batch(table, rows)

    def close(self) -> Iterator[tuple[str, Any]]:
        """All the rest."""
        for table, rows in self._rows.items():
            if rows:
                yield table, _batch(table, rows)


def _exchange(row: dict[str, Any], order: bytes) -> dict[str, Any]:
    for side in ("response", "request"):
        frame = row[side]
        if frame is not None:
            row["time_ns"] = frame["time_ns"]
            frame["time"] = frame["time_ns"] // _US
    row |= {"event_order": order, "time": row["time_ns"] // _US, "day": row["time_ns"] // _DAY_NS}
    return row


def _batch(table: str, rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    schema = arrow_schema(TABLES[table])
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    rows.clear()
    return batch
