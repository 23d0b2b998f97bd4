"""Which columns of a table fit, and how wide each is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from kdissect.report.cells import TableColumn

GAP = 2  # cells between columns
WIDEST = 40  # of any column but the last that is shown


class Placed(NamedTuple):
    """A column on the screen: its index in the table, where it begins, how wide it is."""

    index: int
    start: int
    width: int


def place_columns(
    columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], width: int
) -> list[Placed]:
    """Columns of a table `width` cells wide, with some of its rows as texts.

    Where there is little room those of the highest rank go first, and of equal ones the last; then the
    widest shrinks. What is left over belongs to the last column.
    """
    wanted = [_wanted(column, [row[i] for row in texts]) for i, column in enumerate(columns)]
    kept = [i for i, column in enumerate(columns) if wanted[i]]
    while len(kept) > 1 and _total(kept, [_least(columns[i], wanted[i]) for i in kept]) > width:
        rank, index = max((columns[i].rank, i) for i in kept)
        if rank == 0:
            break
        kept.remove(index)
    widths = _shrunk([wanted[i] for i in kept], [_least(columns[i], wanted[i]) for i in kept], width)
    return _placed(kept, widths, width)


def _wanted(column: TableColumn, texts: Sequence[str]) -> int:
    """0 for a column without a title that has nothing in it."""
    longest = max(map(cell_len, texts), default=0)
    return min(max(longest, cell_len(column.title)), WIDEST)


def _least(column: TableColumn, wanted: int) -> int:
    return min(wanted, max(cell_len(column.title), 8))


def _total(kept: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(kept) - 1)


def _shrunk(widths: list[int], least: Sequence[int], width: int) -> list[int]:
    """Take a cell after the other from the column that is furthest above its least."""
    over = sum(widths) + GAP * (len(widths) - 1) - width
    while over > 0:
        at = max(range(len(widths)), key=lambda i: widths[i] - least[i])
        if widths[at] <= least[at]:
            break
        widths[at] -= 1
        over -= 1
    return widths


def _placed(kept: Sequence[int], widths: list[int], width: int) -> list[Placed]:
    placed, start = [], 0
    for at, index in enumerate(kept):
        own = widths[at] if at < len(kept) - 1 else max(widths[at], width - start)
        placed.append(Placed(index, start, own))
        start += own + GAP
    return placed
