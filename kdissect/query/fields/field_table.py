"""The table `fields`: its columns, chosen by the names of the filter language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json import dumps
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.listed_rows import LISTED_FIELDS
from kdissect.engine.row_columns import Column
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.shared_columns import BROKER, CAPTURE_SET, CONNECTION, EXCHANGE, ORDER, TIME
from kdissect.engine.tables.table import Table
from kdissect.query.fields.printed_fields import Behind, printed_field, type_of

FIELDS = "fields"
"""The name of the table."""

_HEAD = (CAPTURE_SET, CONNECTION, EXCHANGE, BROKER, *TIME)
_GIVEN = frozenset(field.name for field in _HEAD) | {ORDER.name}
_TYPES = {field.name: field.type for field in LISTED_FIELDS}
_TIMES = ("request.time", "response.time")
# Numbers of rows are in no table.
_NUMBER = "number"
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class Chosen(NamedTuple):
    """A column, with its type and the conversion of its values."""

    column: Column
    type: str
    fits: Callable[[Any], Any]


def table_named(name: str, fields: Sequence[str]) -> Table:
    """Return a table by its name. `fields` are those of the table `fields`."""
    return field_table(fields) if name == FIELDS else TABLES[name]


def field_table(names: Sequence[str]) -> Table:
    """Return the table of such names: a name after a dot is a field of a struct. Raises UnknownFieldError for
    a name that no exchange has, ValueError for one that no table has.
    """
    chosen = {one.column.name: one.type for one in chosen_fields(names)}
    structs = dict.fromkeys(parent for name in chosen for parent in _parents(name))
    for name in structs:
        if name in chosen or name in _GIVEN:
            inside = next(each for each in chosen if each.startswith(f"{name}."))
            raise ValueError(
                f"{name} is a column, so that {inside} cannot be one inside of it: leave one out"
            )
    fields = (
        *_HEAD,
        *(RowField(name, "struct", "what was chosen of it") for name in structs),
        *(RowField(name, type_, "as `inspect -e` has it") for name, type_ in chosen.items()),
        ORDER,
    )
    doc = "One row for each exchange, with the fields that `--fields` names."
    return Table(FIELDS, doc, fields, ("connection", "exchange"), ("event_order",))


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def chosen_fields(names: Sequence[str]) -> list[Chosen]:
    """Return the columns that not every row of the table has. Raises as `field_table`."""
    return [_choose(name) for name in dict.fromkeys(names) if name not in _GIVEN]


def _choose(name: str) -> Chosen:
    if name == _NUMBER:
        raise ValueError("numbers of rows are in no table: they count the rows of one process")
    column = Column(*printed_field(name, _TYPES, Behind.EXCHANGE))
    if column.place in _TIMES:
        return Chosen(column, "timestamp", _text)
    type_ = type_of_column(column)
    if type_.startswith("list<"):
        one = _FITS[type_[5:-1]]
        return Chosen(column, type_, lambda value: _list(value, one))
    return Chosen(column, type_, _FITS[type_])


def type_of_column(column: Column) -> str:
    """Return the type of a column that `-e` names, as `RowField` writes it. Structs are text: JSON."""
    type_ = _TYPES.get(column.place) or type_of(column.name)
    if type_ in ("struct", "list<struct>"):
        return "string"
    is_inside = column.place != column.first and _TYPES.get(column.first) == "list<struct>"
    return f"list<{type_}>" if is_inside and not column.is_made else type_


def _list(value: Any, fits: Callable[[Any], Any]) -> list[Any]:
    if value is None:
        return []
    return [fits(one) for one in value] if isinstance(value, (list, tuple)) else [fits(value)]


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and _LEAST <= value <= _MOST else None


def _real(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    """Return structs as JSON. File names may hold what is no text."""
    if value is None:
        return None
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode()


_FITS: dict[str, Callable[[Any], Any]] = {
    "int16": _whole, "int32": _whole, "int64": _whole, "double": _real, "bool": _truth, "string": _text,
}  # fmt: skip
