"""Buffered rows, in any format: which rows, in what order, how many, which columns."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.diagnostics import say
from kdissect.cli.formats import Format, delimited
from kdissect.cli.formats.named_fields import Room, split_more, split_names
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.options.wanted_names import near_names
from kdissect.cli.output import Output, UsageError
from kdissect.engine.row_columns import Column

ASCENDING, DESCENDING = ":asc", ":desc"


def write_rows(table: RowTable, style: str, options: Namespace, output: Output) -> None:
    """Write the rows that the options ask for. Raises UsageError for names that no row has."""
    rows = list(table.rows())
    if not rows and style not in ("json", "jsonl"):
        say(f"the table {table.name} has no rows here")
    if options.sort:
        name, way = split_way(options.sort)
        rows = _sorted(rows, _column(name, rows), way)
    rows = rows[: options.limit]
    names, and_usual = split_more(split_names(options.fields))
    chosen = [_column(name, rows) for name in names]
    usual = [Column(name) for name in table.columns or _names_of(rows)]
    if style == "table":
        from kdissect.cli.formats.text_table import chosen_columns  # start-up: rich
        from kdissect.cli.formats.text_table import table as text_table

        shown = chosen_columns(chosen)
        if and_usual or not chosen:  # of the usual ones the last are left out first
            usual_shown = (one._replace(rank=rank) for rank, one in enumerate(chosen_columns(usual)))
            shown = [*usual_shown, *shown]
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
    """Return the fields of rows that do not contain rows themselves."""
    names: dict[str, bool] = {}
    for row in rows:
        for name, value in row.items():
            is_rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
            names[name] = names.get(name, False) or is_rows
    return [name for name, is_rows in names.items() if not is_rows]


def _column(name: str, rows: Sequence[Facts]) -> Column:
    """Return the column of a name, as rows or filters (`-Y`) spell it.

    Raises UsageError for a name that is missing in all rows. A row whose value is null, as a distribution
    without values is, may have any part of it.
    """
    found = {_has(row, name.split(".")) for row in rows}
    if True in found or False not in found:
        return Column(name)
    from kdissect.query.fields.printed_fields import places_of  # start-up: rows have most names

    for place in places_of(name):
        if any(_has(row, place.split(".")) is True for row in rows):
            return Column(name, place.split("."))
    known = list(dict.fromkeys(found for row in rows for found in _paths(row)))
    near = near_names(name, known)
    hint = f"did you mean {near[0]}?" if near else f"fields are {', '.join(known)}"
    raise UsageError(f"no field {name!r}; {hint}")


def _has(value: Any, path: Sequence[str]) -> bool | None:
    """Return whether a value has a part. None: a null is before it."""
    if not path:
        return True
    if isinstance(value, list):
        found = {_has(item, path) for item in value}
        return True if True in found else None if None in found else False
    if value is None:
        return None
    return isinstance(value, dict) and path[0] in value and _has(value[path[0]], path[1:])


def _paths(row: Facts, before: str = "") -> Iterable[str]:
    for name, value in row.items():
        yield before + name
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{name}.")


def split_way(wanted: str) -> tuple[str, str]:
    """Return `--sort NAME:desc` as name and direction, or no direction if the values decide it."""
    name = wanted.removesuffix(ASCENDING).removesuffix(DESCENDING)
    return name, wanted[len(name) :]


class Order:
    """Order of a list's rows; `most` of them are buffered, and `is_asked` if the user named that number.

    `is_shown`: the rows that are printed have its column.
    """

    def __init__(self, column: Column, way: str, most: int, is_asked: bool, is_shown: bool) -> None:
        self.column = column
        self.is_shown = is_shown
        self.way = way
        self.most = most
        self.is_asked = is_asked

    def over(self, form: Format) -> SortedFormat:
        """Return the format, with its rows in this order."""
        return SortedFormat(form, self)


class SortedFormat:
    """Holds the rows that come first in an order, and gives them to a format at the end."""

    values = None
    end = b""
    is_stripped = False

    def __init__(self, form: Format, order: Order) -> None:
        self._form = form
        self._order = order
        self._rows: list[Facts] = []
        self._seen = 0
        self.head = form.head

    def line(self, row: Facts) -> bytes:
        """Nothing yet."""
        self._seen += 1
        self._rows.append(row)
        if len(self._rows) >= 2 * self._order.most:
            self._rows = self._first()
        return b""

    def tail(self) -> bytes:
        """Return the rows, and report the number of rows beyond the limit."""
        rows, most = self._first(), self._order.most
        if self._seen > most and not self._order.is_asked:
            left = self._seen - most
            say(f"--sort holds {most} rows: {left} more are left out (--limits sorted_rows=N)")
        if not self._order.is_shown:
            for row in rows:
                row.pop(self._order.column.name)
        return b"".join([*map(self._form.line, rows), self._form.tail()])

    def cell(self, at: int, row: Facts) -> bytes:
        """Of the format."""
        raise NotImplementedError

    def room(self, at: int, row: Facts) -> Room:
        """Of the format."""
        raise NotImplementedError

    def _first(self) -> list[Facts]:
        return _sorted(self._rows, self._order.column, self._order.way)[: self._order.most]


def _sorted(rows: list[Facts], column: Column, way: str) -> list[Facts]:
    """Return numbers with the largest first, texts in their order, and rows without a value last."""
    filled = [row for row in rows if column.value(row) not in (None, "", [])]
    is_number = all(isinstance(column.value(row), int | float) for row in filled)
    is_reversed = way == DESCENDING or (is_number and way != ASCENDING)

    def key(row: Facts) -> Any:
        value = column.value(row)
        return value if is_number else str(value)

    empty = [row for row in rows if column.value(row) in (None, "", [])]
    return sorted(filled, key=key, reverse=is_reversed) + empty


def _types_of(columns: Sequence[Column], rows: Sequence[Facts]) -> dict[str, str]:
    """Return the types of columns, as `ParquetFormat` has them, by the values that are there."""
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
