"""The types of columns as a tree: dotted names of `RowField` put together.

Types are written as rows have them: `bool`, `int8` to `int64`, `double`, `string`, `binary`, `date`,
`timestamp` (microseconds, UTC: what every reader of Parquet knows), `list<T>`, `map<string,int64>`, `struct`
and `list<struct>` with the fields below their name.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kdissect.engine.exchange_rows import RowField

SCALARS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "double", "string", "binary", "date", "timestamp"}
)
COUNTS = "map<string,int64>"


class Shape(NamedTuple):
    """One column or field.

    `kind` is a scalar, `map`, or `struct` with `fields`. `is_list` says that there are several of it.
    """

    name: str
    kind: str
    is_list: bool
    fields: tuple["Shape", ...]
    doc: str


def shapes_of(fields: Iterable[RowField]) -> tuple[Shape, ...]:
    """Return the columns. Raises ValueError for a type there is not, or a struct without fields."""
    rows = tuple(fields)
    return tuple(
        _shape(field, field.name, [row for row in rows if row.name.startswith(f"{field.name}.")])
        for field in rows
        if "." not in field.name
    )


def _shape(field: RowField, name: str, below: list[RowField]) -> Shape:
    is_list = field.type.startswith("list<")
    kind = field.type[5:-1] if is_list else field.type
    if kind == COUNTS:
        return Shape(name, "map", is_list, (), field.doc)
    if kind == "struct":
        inner = shapes_of(row._replace(name=row.name[len(name) + 1 :]) for row in below)
        if not inner:
            raise ValueError(f"the struct {name} has no fields")
        return Shape(name, kind, is_list, inner, field.doc)
    if kind not in SCALARS:
        raise ValueError(f"{name} has the type {field.type}, which tables do not support")
    return Shape(name, kind, is_list, (), field.doc)
