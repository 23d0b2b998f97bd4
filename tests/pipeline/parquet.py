"""Tables of a run, read as anybody would: pyarrow, with the partitions of their directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

# What tables have beside the fields of the rows.
EXCHANGE_EXTRAS = frozenset({"event_order", "day", "time", "time_ns"})
CONNECTION_EXTRAS = frozenset({"event_order", "day"})
# Times of tables are timestamps in microseconds, those of rows texts; both have nanoseconds beside them.
_TEXTS = frozenset({"time", "start", "number"})
_OPTIONAL = ("last_file", "captured")
_PARTITIONS = ds.partitioning(pa.schema([("day", pa.date32()), ("broker", pa.string())]), flavor="hive")


def read_table(output: Path, table: str, *order: str) -> list[dict[str, Any]]:
    """Rows of a table, sorted."""
    found = ds.dataset(output / table, format="parquet", partitioning=_PARTITIONS).to_table()
    rows: list[dict[str, Any]] = found.sort_by([(name, "ascending") for name in order]).to_pylist()
    return rows


def without_times(row: dict[str, Any], extras: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A row without what differs in form, and without optional fields that are null."""
    return {name: _plain(value) for name, value in row.items() if name not in extras and name not in _TEXTS}


def _plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: _plain(inner)
        for name, inner in value.items()
        if name not in _TEXTS and not (name in _OPTIONAL and inner is None)
    }
