"""Tables whose rows are held, in any format: which rows, in what order, how many, which columns."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.formats import delimited
from kdissect.cli.formats.named_fields import Column, split_more, split_names
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.options.wanted_names import near_names
from kdissect.cli.output import Output, UsageError

ASCENDING, DESCENDING = ":asc", ":desc"


def write_rows(table: RowTable, style: str, options: Namespace, output: Output) -> None:
    """Write the rows that the options ask for. Raises UsageError for names that no row has."""
    rows = list(table.rows())
    if options.sort:
        rows = _sorted(rows, options.sort)
    rows = rows[: options.limit]
    names, and_usual = split_more(split_names(options.fields))
    for name in names:
        _check(name, rows)
    chosen = [Column(name) for name in names]
    usual = [Column(name) for name in table.columns or _names_of(rows)]
    if style == "table":
        from kdissect.cli.formats.text_table import chosen_columns  # start-up: rich
        from kdissect.cli.formats.text_table import table as text_table

        shown = chosen_columns([*(usual if and_usual or not chosen else ()), *chosen])
        form: Any = text_table(shown, options, output, live=False)
    elif style == "parquet":
        from kdissect.cli.formats.parquet import ParquetFormat  # pyarrow is optional

        columns = [*(usual if and_usual or not chosen else ()), *chosen]
        form = ParquetFormat(columns, _types_of(columns, rows))
    else:
        is_json = style in ("json", "jsonl")
        columns = chosen if chosen and not and_usual else [*(() if is_json else usual), *chosen]
        form = delimited(style, columns, options.header, output.is_terminal, and_usual)
    output.write(form.head())
    for row in rows:
        output.write(form.line(row))
    output.write(form.tail())


def _names_of(rows: Sequence[Facts]) -> list[str]:
    """Of the fields of rows those that are no rows themselves."""
    names: dict[str, bool] = {}
    for row in rows:
        for name, value in row.items():
            is_rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
            names[name] = names.get(name, False) or is_rows
    return [name for name, is_rows in names.items() if not is_rows]


def _check(name: str, rows: Sequence[Facts]) -> None:
    """Raises UsageError for a name that is in none of the rows."""
    if not rows or any(_has(row, name.split(".")) for row in rows):
        return
    known = list(dict.fromkeys(found for row in rows for found in _paths(row)))
    near = near_names(name, known)
    hint = f"did you mean {near[0]}?" if near else f"fields are {', '.join(known)}"
    raise UsageError(f"no field {name!r}; {hint}")


def _has(value: Any, path: Sequence[str]) -> bool:
    if not path:
        return True
    if isinstance(value, list):
        return any(_has(item, path) for item in value)
    return isinstance(value, dict) and path[0] in value and _has(value[path[0]], path[1:])


def _paths(row: Facts, before: str = "") -> Iterable[str]:
    for name, value in row.items():
        yield before + name
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{name}.")


def _sorted(rows: list[Facts], wanted: str) -> list[Facts]:
    """Numbers: the largest first; texts: in their order; what has none comes last."""
    name = wanted.removesuffix(ASCENDING).removesuffix(DESCENDING)
    _check(name, rows)
    column = Column(name)
    filled = [row for row in rows if column.value(row) not in (None, "", [])]
    is_number = all(isinstance(column.value(row), int | float) for row in filled)
    is_reversed = wanted.endswith(DESCENDING) or (is_number and not wanted.endswith(ASCENDING))

    def key(row: Facts) -> Any:
        value = column.value(row)
        return value if is_number else str(value)

    empty = [row for row in rows if column.value(row) in (None, "", [])]
    return sorted(filled, key=key, reverse=is_reversed) + empty


def _types_of(columns: Sequence[Column], rows: Sequence[Facts]) -> dict[str, str]:
    """The types of columns, as `ParquetFormat` has them, by the values that are there."""
    found = {}
    for column in columns:
        values = [value for row in rows if (value := column.value(row)) is not None]
        found[column.place] = _type_of(values)
    return found


def _type_of(values: Sequence[Any]) -> str:
    if values and all(isinstance(value, bool) for value in values):
        return "bool"
    if values and all(type(value) is int for value in values):
        return "int64"
    if values and all(type(value) in (int, float) for value in values):
        return "double"
    if values and all(
        isinstance(value, list) and all(isinstance(item, str) for item in value) for value in values
    ):
        return "list<string>"
    return "string"
