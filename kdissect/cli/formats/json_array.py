"""Rows as one JSON document: an array, a row a line."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.jsonl import JsonFormat
from kdissect.engine.row_columns import Column


class JsonArrayFormat(JsonFormat):
    """`JsonFormat` with brackets around the lines, and commas between them."""

    def __init__(self, columns: Sequence[str | Column], for_terminal: bool, and_rows: bool = False) -> None:
        super().__init__(columns, for_terminal, and_rows)
        self.values = None  # lines differ by what comes before them
        self._before = b"[\n"

    def line(self, row: dict[str, Any]) -> bytes:
        """One row, behind what separates it from the one before."""
        before, self._before = self._before, b",\n"
        return before + super().line(row).removesuffix(b"\n")

    def tail(self) -> bytes:
        """The end of the array."""
        return b"[]\n" if self._before == b"[\n" else b"\n]\n"
