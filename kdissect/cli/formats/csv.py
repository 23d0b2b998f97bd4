"""Comma-separated values, RFC 4180 as the `csv` module writes it, with `\\n` line ends."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.formats.named_fields import Room, as_columns
from kdissect.cli.formats.spreadsheet_text import formula_mark
from kdissect.engine.row_columns import Column
from kdissect.report.cells import LIST_SEPARATOR, cell
from kdissect.report.printable import printable


class CsvFormat:
    """Strings are printable, quoted where needed. Unprintable characters are escaped in files as well: users
    read them with `cat` and `less`, on which they would act.
    """

    end = b"\n"
    is_stripped = False

    def __init__(self, columns: Sequence[str | Column], header: bool) -> None:
        self._columns = as_columns(columns)
        self._header = header
        self.values: list[str] | None = [column.place for column in self._columns]
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")

    def head(self) -> bytes:
        """Return the names of the columns."""
        return self._record(column.name for column in self._columns) if self._header else b""

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row."""
        return self._record(self._shown(column, row) for column in self._columns)

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """Return the cell of a column, after a comma."""
        text = self._shown(self._columns[at], row)
        alone = len(self._columns) == 1
        # A lone cell is quoted if it is empty.
        record = self._record([text] if alone else [text, ""])
        return self.room(at, row).before + record.removesuffix(b"\n" if alone else b",\n")

    def room(self, at: int, row: dict[str, Any]) -> Room:
        """Return the comma."""
        return Room(b"," if at else b"")

    def tail(self) -> bytes:
        """Nothing: every row went out at once."""
        return b""

    def _shown(self, column: Column, row: dict[str, Any]) -> str:
        return printable(_text(column.value(row)))

    def _record(self, cells: Iterable[str]) -> bytes:
        self._writer.writerow(cells)
        record = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return record.encode("utf-8", "replace")


def _text(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        text = LIST_SEPARATOR.join(value)
    else:
        text = cell(value)
    return formula_mark(value) + text
