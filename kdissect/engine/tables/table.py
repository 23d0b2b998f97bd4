"""What a table is: its columns, what names a row, and the order of rows."""

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
        """Whether the table has all of these columns."""
        return set(columns) <= set(self.columns)


def within(name: str, type_: str, doc: str, fields: Iterable[RowField]) -> tuple[RowField, ...]:
    """A struct, or a list of structs, with its fields."""
    return (
        RowField(name, type_, doc),
        *(RowField(f"{name}.{field.name}", field.type, field.doc) for field in fields),
    )


def without(
    fields: Sequence[RowField], *dropped: str, types: dict[str, str] | None = None
) -> tuple[RowField, ...]:
    """Fields of a row but for some, with other types for some: Parquet has times where JSON has text."""
    types = types or {}
    gone = tuple(f"{name}." for name in dropped)
    return tuple(
        field._replace(type=types.get(field.name, field.type))
        for field in fields
        if field.name not in dropped and not field.name.startswith(gone)
    )
