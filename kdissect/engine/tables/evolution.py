"""How tables may change between versions, and how rows of an older version become rows of this one.

Rules:
- Columns, and fields inside of structs, may be added. No column is renamed or dropped, and none gets another
  type or meaning. The names of rows and the order of rows stay.
- In files written before a column was there it is null.
- `TABLES_VERSION` grows by one with the first release that has anything new. A program that knows fewer
  versions does not change the directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdissect.engine.tables.table import Table

_HEAD, _INDENT = "table ", "  "


def schema_text(tables: Iterable[Table]) -> str:
    """Return tables as text: names and types of columns in their order, the names of rows, their order."""
    lines = []
    for table in tables:
        lines.append(f"{_HEAD}{table.name}")
        lines.append(f"{_INDENT}by {' '.join(table.identity)}")
        lines.append(f"{_INDENT}sorted {' '.join(table.order)}")
        lines += [f"{_INDENT}{field.name}: {field.type}" for field in table.fields]
    return "\n".join(lines) + "\n"


def breaches(released: str, present: str) -> list[str]:
    """Return the breaches of the rules between two texts of `schema_text`: a line each."""
    now = _tables(present)
    found: list[str] = []
    for name, lines in _tables(released).items():
        if name not in now:
            found.append(f"{name}: the table does not exist any more")
            continue
        found += [f"{name}: no longer has '{key}: {value}'" for key, value in lines.items()
                  if now[name].get(key) != value]  # fmt: skip
    return found


def conform(batch: Any, schema: Any) -> Any:
    """Return a record batch of an older version with the columns of `schema` (`pyarrow.Schema`): new columns
    are null.

    Raises ValueError if it has columns that `schema` has not.
    """
    import pyarrow as pa  # an extra

    if batch.schema.equals(schema):
        return batch
    present = set(batch.schema.names)
    if not present <= set(schema.names):
        raise ValueError(f"columns of no known version: {', '.join(sorted(present - set(schema.names)))}")
    columns = [
        _conformed(batch.column(field.name), field.type)
        if field.name in present
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _conformed(column: Any, type_: Any) -> Any:
    """Return a column whose structs may have got fields."""
    import pyarrow as pa  # an extra

    if column.type == type_:
        return column
    if pa.types.is_nested(type_):
        return pa.array(column.to_pylist(), type_)  # Arrow casts such structs only since its version 19
    return column.cast(type_)


def _tables(text: str) -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = {}
    columns: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(_HEAD):
            columns = tables[line.removeprefix(_HEAD)] = {}
        elif line.strip():
            key, _, value = line.strip().partition(": " if ": " in line else " ")
            columns[key] = value
    return tables
