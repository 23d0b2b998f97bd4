"""Cells and columns of tables: plain rows to text that is safe to show."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """Text that is safe to print, and the name of its style (`""` for none)."""

    text: str
    style: str = ""


class TableColumn(NamedTuple):
    """One column.

    Where the terminal is too narrow, columns of the highest `rank` go first; those of rank 0 stay.
    """

    title: str
    cell: Callable[[dict[str, Any]], Cell]
    min_width: int = 0
    rank: int = 0
    right: bool = False
