"""Filters that Spark leaves to the source, as an Arrow expression, and the files they leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

# Columns that say which files are worth reading: all rows of a file have the same.
_OF_FILES = ("capture_set", "file")
_COMPARISONS = {
    "EqualTo": "__eq__",
    "GreaterThan": "__gt__",
    "GreaterThanOrEqual": "__ge__",
    "LessThan": "__lt__",
    "LessThanOrEqual": "__le__",
}
_TEXT = {
    "StringContains": "match_substring",
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
}


def expression(found: Filter) -> Any:
    """A filter as a `pyarrow.compute` expression; None for one that is left to Spark."""

    name = type(found).__name__
    if name == "Not":
        inner = expression(found.child)  # type: ignore[attr-defined]
        return None if inner is None else ~inner
    column = pc.field(*getattr(found, "attribute", ()))
    if name in _COMPARISONS:
        return getattr(column, _COMPARISONS[name])(_scalar(found))
    if name in _TEXT:
        return getattr(pc, _TEXT[name])(column, found.value)  # type: ignore[attr-defined]
    if name == "In":
        return column.isin(list(found.value))  # type: ignore[attr-defined]
    if name in ("IsNull", "IsNotNull"):
        return column.is_null() if name == "IsNull" else ~column.is_null()
    return None


def can_say(found: Filter, schema: Any) -> bool:
    """Whether Arrow can apply a filter to rows of a schema.

    It is tried on no rows at all: a failure later would end the job.
    """

    try:
        wanted = expression(found)
        if wanted is None:
            return False
        schema.empty_table().filter(wanted)
    except (pa.ArrowException, TypeError):  # a value that Arrow has no type for, or not that of the column
        return False
    return True


def file_test(filters: Iterable[Filter]) -> Callable[[dict[str, str]], bool]:
    """Whether a file can hold rows that pass, by its `_OF_FILES`."""
    allowed: dict[str, set[Any]] = {}
    for found in filters:
        column = ".".join(getattr(found, "attribute", ()))
        if column in _OF_FILES and type(found).__name__ in ("EqualTo", "In"):
            value = found.value  # type: ignore[attr-defined]
            values = set(value) if isinstance(value, (tuple, list)) else {value}
            allowed[column] = allowed.get(column, values) & values
    return lambda file: all(file[column] in values for column, values in allowed.items() if column in file)


def _scalar(found: Any) -> Any:
    return pc.scalar(found.value)
