"""Definition of a table: its columns, the names of a row, and the order of rows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdissect.engine.exchange_rows import RowField


class Table(NamedTuple):
    """One table.

    `identity` are the columns that name a row: no two rows share them, and a run on one machine and one on
    many give equal rows for equal names. Sorted by `order` two runs give the rows in the same order.
    """

    name: str
    doc: str
    fields: tuple[RowField, ...]
    identity: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, without the fields inside of structs."""
        return tuple(field.name for field in self.fields if "." not in field.name)

    def has(self, *columns: str) -> bool:
        """Return whether the table has all of these columns."""
        return set(columns) <= set(self.columns)


def within(name: str, type_: str, doc: str, fields: Iterable[RowField]) -> tuple[RowField, ...]:
    """Return a struct, or a list of structs, with its fields."""
    return (
        RowField(name, type_, doc),
        *(RowField(f"{name}.{field.name}", field.type, field.doc) for field in fields),
    )


def without(
    fields: Sequence[RowField], *dropped: str, types: dict[str, str] | None = None
) -> tuple[RowField, ...]:
    """Return fields of a row but for some, with other types for some: Parquet has times where JSON has
    text.
    """
    types = types or {}
    gone = tuple(f"{name}." for name in dropped)
    return tuple(
        _retyped(field, types.get(field.name, field.type))
        for field in fields
        if field.name not in dropped and not field.name.startswith(gone)
    )


def _retyped(field: RowField, type_: str) -> RowField:
    doc = field.doc.partition(", RFC 3339")[0] if type_ == "timestamp" else field.doc
    return field._replace(type=type_, doc=doc)


def with_times(fields: Iterable[RowField], *names: str) -> tuple[RowField, ...]:
    """Return fields with a timestamp before each of these numbers (`..._ns`, `..._ms`): who makes rows sets
    the numbers alone (`stages.rows.timestamps`).
    """
    made: list[RowField] = []
    for field in fields:
        if field.name in names:
            made.append(RowField(field.name[: -len("_ns")], "timestamp", field.doc))
            unit = "nanoseconds" if field.name.endswith("_ns") else "milliseconds"
            made.append(field._replace(doc=f"this time in {unit} since 1970 UTC"))
        else:
            made.append(field)
    return tuple(made)
