"""Tab-separated values: one line a row whatever the values hold."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.columns import Column
from kdissect.report.cell_text import cell


class TsvFormat:
    """Null is empty, lists are joined by commas, structs are JSON; tabs and line ends are escaped."""

    def __init__(self, columns: Sequence[str], header: bool) -> None:
        self._columns = [Column(name) for name in columns]
        self._header = header

    def head(self) -> bytes:
        """The names of the columns."""
        if not self._header:
            return b""
        return ("\t".join(column.name for column in self._columns) + "\n").encode()

    def line(self, row: dict[str, Any]) -> bytes:
        """One row."""
        return ("\t".join([cell(column.value(row)) for column in self._columns]) + "\n").encode()

    def tail(self) -> bytes:
        """Nothing: every row went out at once."""
        return b""
