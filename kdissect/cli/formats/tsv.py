"""Tab-separated values: one line a row whatever the values hold."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.named_fields import Room, as_columns
from kdissect.cli.formats.spreadsheet_text import formula_mark
from kdissect.engine.row_columns import Column
from kdissect.report.cells import cell


class TsvFormat:
    """Null is empty, lists are joined by commas, structs are JSON; tabs and line ends are escaped.

    A text that a spreadsheet would evaluate has an apostrophe before it, as in CSV.
    """

    end = b"\n"
    is_stripped = False

    def __init__(self, columns: Sequence[str | Column], header: bool) -> None:
        self._columns = as_columns(columns)
        self._firsts = [column.first for column in self._columns]
        self._header = header
        self.values: list[str] | None = [column.place for column in self._columns]

    def head(self) -> bytes:
        """Return the names of the columns."""
        if not self._header:
            return b""
        return ("\t".join(column.name for column in self._columns) + "\n").encode()

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row."""
        # Hot, for each cell of a million connections: most of what can be null is.
        cells = [
            "" if value is None else _text(column.inside(value))
            for value, column in zip(map(row.get, self._firsts), self._columns, strict=True)
        ]
        return ("\t".join(cells) + "\n").encode()

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """Return the cell of a column, after a tab."""
        return self.room(at, row).before + _text(self._columns[at].value(row)).encode("utf-8", "replace")

    def room(self, at: int, row: dict[str, Any]) -> Room:
        """Return the tab."""
        return Room(b"\t" if at else b"")

    def tail(self) -> bytes:
        """Nothing: every row went out at once."""
        return b""


def _text(value: Any) -> str:
    # Hot, once a cell: what begins with a letter or a digit is no formula.
    text = cell(value)
    return text if not text or text[0].isalnum() else formula_mark(value) + text
