"""Comma-separated values, RFC 4180 as the `csv` module writes it, with `\\n` line ends."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.cli.columns import Column
from kdissect.cli.printable import printable
from kdissect.report.cell_text import LIST_SEPARATOR, cell


class CsvFormat:
    """Strings are written as they are, quoted where needed; escaped only for a terminal."""

    def __init__(self, columns: Sequence[str], header: bool, for_terminal: bool) -> None:
        self._columns = [Column(name) for name in columns]
        self._header = header
        self._for_terminal = for_terminal
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")

    def head(self) -> bytes:
        """The names of the columns."""
        return self._record(column.name for column in self._columns) if self._header else b""

    def line(self, row: dict[str, Any]) -> bytes:
        """One row."""
        cells = [_text(column.value(row)) for column in self._columns]
        return self._record(map(printable, cells) if self._for_terminal else cells)

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
        return value
    if isinstance(value, list) and value and isinstance(value[0], str):
        return LIST_SEPARATOR.join(value)
    return cell(value)
