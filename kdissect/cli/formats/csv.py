"""Comma-separated values, RFC 4180 as the `csv` module writes it, with `\\n` line ends.

A file of this form is opened in a spreadsheet, which takes a text that begins like a formula for one and
runs it. Such a text gets an apostrophe in front, as spreadsheets mark text; TSV and JSON have it as it is.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.formats.named_fields import Room, as_columns
from kdissect.engine.row_columns import Column
from kdissect.report.cells import LIST_SEPARATOR, cell
from kdissect.report.printable import printable

# "CSV Injection", OWASP: what begins a formula in Excel, LibreOffice or Google Sheets, also behind blanks
_FORMULA = re.compile(r"\s*[=+\-@\x00-\x1f\uff0b\uff0d\uff1d\uff20]")


class CsvFormat:
    """Strings are printable, quoted where needed. What is not printable is escaped in files as well: they are
    looked at with `cat` and `less`, where it would act.
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
        """The names of the columns."""
        return self._record(column.name for column in self._columns) if self._header else b""

    def line(self, row: dict[str, Any]) -> bytes:
        """One row."""
        return self._record(self._shown(column, row) for column in self._columns)

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """The cell of a column, behind a comma."""
        text = self._shown(self._columns[at], row)
        alone = len(self._columns) == 1
        # What is alone in a record is quoted where it is empty.
        record = self._record([text] if alone else [text, ""])
        return self.room(at, row).before + record.removesuffix(b"\n" if alone else b",\n")

    def room(self, at: int, row: dict[str, Any]) -> Room:
        """Nothing but the comma."""
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
        return _inert(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return _inert(LIST_SEPARATOR.join(value))
    return cell(value)


def _inert(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text
