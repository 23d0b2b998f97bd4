"""Rows as one JSON document: an object with its version, and under `rows` a row a line."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.jsonl import JsonFormat, json_bytes
from kdissect.engine.row_columns import Column
from kdissect.report.json_pages import versioned


class JsonDocumentFormat(JsonFormat):
    """`JsonFormat` within an object, with commas between the lines."""

    def __init__(self, columns: Sequence[str | Column], for_terminal: bool, and_rows: bool = False) -> None:
        super().__init__(columns, for_terminal, and_rows)
        self.values = None  # lines differ by what comes before them
        self._before = b'%b,"rows":[\n' % json_bytes(versioned({})).removesuffix(b"}")

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row, after a comma if it is not the first. The first row opens the object."""
        before, self._before = self._before, b",\n"
        return before + super().line(row).removesuffix(b"\n")

    def tail(self) -> bytes:
        """Return the end of the object."""
        return b"\n]}\n" if self._before == b",\n" else self._before.removesuffix(b"\n") + b"]}\n"
