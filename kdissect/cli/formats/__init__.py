"""Output formats: rows to bytes. Each is a `Format`, whose module is imported when the format is used."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kdissect.cli.output import Output

if TYPE_CHECKING:
    from kdissect.cli.formats.named_fields import Room
    from kdissect.engine.row_columns import Column
    from kdissect.report.cells import TableColumn


class Format(Protocol):
    """Turns rows into bytes, one after the other: `head()`, `line(row)` for each, `tail()`."""

    def head(self) -> bytes:
        """Return the bytes before the first row."""

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row, which the format may also delay until a later one."""

    def tail(self) -> bytes:
        """Return the delayed bytes."""


class ColumnFormat(Format, Protocol):
    """A format whose lines are cells one after another, so that common parts of many lines are built once."""

    end: bytes
    """Of a line."""
    is_stripped: bool
    """Whether a line has no blanks at its end."""

    @property
    def values(self) -> "list[str] | None":
        """The value of a row that each column shows; None before columns are known, and for whole rows."""

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """Return the cell of a column as in a line, with the separator before it."""

    def room(self, at: int, row: dict[str, Any]) -> "Room":
        """Return the text around a column's value, as in the line of a row."""


def format_name(options: Namespace, output: Output) -> str:
    """Return the user's format, or a table on a terminal, or TSV."""
    chosen: str | None = options.format
    return chosen or ("table" if output.is_terminal else "tsv")


def format_of(
    options: Namespace,
    output: Output,
    columns: Sequence[str],
    table_columns: Callable[[], "list[TableColumn]"],
    live: bool = False,
    types: "Mapping[str, str] | None" = None,
) -> ColumnFormat:
    """Return the format that the user asked for. `types` are the fields' types, for Parquet.

    `-e` chooses the columns. Without it TSV and CSV have `columns`, JSON lines have whole rows, and a table
    has `table_columns()`. A `live` table shows each row at once.
    """
    form = _format_of(options, output, columns, table_columns, live, types)
    order = getattr(options, "order", None)
    return form if order is None else order.over(form)


def _format_of(
    options: Namespace,
    output: Output,
    columns: Sequence[str],
    table_columns: Callable[[], "list[TableColumn]"],
    live: bool,
    types: "Mapping[str, str] | None",
) -> ColumnFormat:
    name = format_name(options, output)
    chosen: Sequence[Column] = getattr(options, "columns", ())
    and_usual: bool = getattr(options, "and_usual", False)
    if name == "parquet":
        from kdissect.cli.formats.parquet import ParquetFormat  # pyarrow is optional

        return ParquetFormat([*(columns if and_usual or not chosen else ()), *chosen], types or {})
    if name != "table":
        shown: Sequence[str | Column] = chosen
        if name not in ("json", "jsonl") and (and_usual or not chosen):
            shown = [*columns, *chosen]
        return delimited(name, shown, options.header, output.is_terminal, and_usual)
    from kdissect.cli.formats.text_table import chosen_columns, table  # start-up: rich

    usual = table_columns() if and_usual or not chosen else []
    return table(usual + chosen_columns(chosen), options, output, live)


def delimited(
    name: str, columns: "Sequence[str | Column]", header: bool, for_terminal: bool, and_rows: bool = False
) -> ColumnFormat:
    """Return the format `tsv`, `csv`, `json` or `jsonl` with these columns; JSON `and_rows`: behind whole
    rows.
    """
    # at first use, for start-up: csv and orjson import many modules
    if name == "csv":
        from kdissect.cli.formats.csv import CsvFormat  # start-up: csv

        return CsvFormat(columns, header)
    if name == "json":
        from kdissect.cli.formats.json_document import JsonDocumentFormat  # start-up: orjson

        return JsonDocumentFormat(columns, for_terminal, and_rows)
    if name == "jsonl":
        from kdissect.cli.formats.jsonl import JsonFormat  # start-up: orjson

        return JsonFormat(columns, for_terminal, and_rows)
    from kdissect.cli.formats.tsv import TsvFormat  # start-up

    return TsvFormat(columns, header)
