"""Output formats: rows to bytes. Each is a `Format`; the module of one is imported when it is asked for."""

from collections.abc import Sequence
from typing import Any, Protocol


class Format(Protocol):
    """Turns rows into bytes, one after the other: `head()`, `line(row)` for each, `tail()`."""

    def head(self) -> bytes:
        """What comes before the first row."""

    def line(self, row: dict[str, Any]) -> bytes:
        """One row; may be held back and come with a later one."""

    def tail(self) -> bytes:
        """What was held back."""


def delimited(name: str, columns: Sequence[str], header: bool, for_terminal: bool) -> Format:
    """The format `tsv`, `csv` or `jsonl` with these columns."""
    if name == "csv":
        from kdissect.cli.formats.csv import CsvFormat

        return CsvFormat(columns, header)
    if name == "jsonl":
        from kdissect.cli.formats.jsonl import JsonFormat

        return JsonFormat(columns, for_terminal)
    from kdissect.cli.formats.tsv import TsvFormat

    return TsvFormat(columns, header)
