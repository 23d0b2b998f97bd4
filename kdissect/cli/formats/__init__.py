"""Output formats: rows to bytes. Each is a `Format`; the module of one is imported when it is asked for."""

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
        """Return what comes before the first row."""

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row; may be held back and come with a later one."""

    def tail(self) -> bytes:
        """Return what was held back."""


class ColumnFormat(Format, Protocol):
    """A format whose lines are cells one behind another, so that what many lines share is made once."""

    end: bytes
    """Of a line."""
    is_stripped: bool
    """Whether a line has no blanks at its end."""

    @property
    def values(self) -> "list[str] | None":
        """The value of a row that each column shows; None before columns are known, and for whole rows."""

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """Return the cell of a column as it stands in a line, with what separates it from the one before."""

    def room(self, at: int, row: dict[str, Any]) -> "Room":
        """Return what stands around the text of a column, as in the line of a row."""


def format_name(options: Namespace, output: Output) -> str:
    """Return what the user asked for: else a table on a terminal, TSV otherwise."""
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
    """Return the format that the user asked for. `types` are those of fields, for Parquet.

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
    # at first use: start-up; csv and orjson import many modules
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
