"""Comma-separated values, RFC 4180 as the `csv` module writes it, with `\\n` line ends.

A file of this form is opened in a spreadsheet, which takes a text that begins like a formula for one and
runs it. Such a text gets an apostrophe in front, as spreadsheets mark text; TSV and JSON have it as it is.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.formats.named_fields import Column
from kdissect.report.cells import LIST_SEPARATOR, cell
from kdissect.report.printable import printable

# "CSV Injection", OWASP: what begins a formula in Excel, LibreOffice or Google Sheets, also behind blanks
_FORMULA = re.compile(r"\s*[=+\-@\x00-\x1f\uff0b\uff0d\uff1d\uff20]")


class CsvFormat:
    """Strings are printable, quoted where needed. What is not printable is escaped in files as well: they are
    looked at with `cat` and `less`, where it would act.
    """

    def __init__(self, columns: Sequence[str], header: bool) -> None:
        self._columns = [Column(name) for name in columns]
        self._header = header
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")

    def head(self) -> bytes:
        """The names of the columns."""
        return self._record(column.name for column in self._columns) if self._header else b""

    def line(self, row: dict[str, Any]) -> bytes:
        """One row."""
        return self._record(printable(_text(column.value(row))) for column in self._columns)

    def tail(self) -> bytes:
        """Nothing: every row went out at once."""
        return b""

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
