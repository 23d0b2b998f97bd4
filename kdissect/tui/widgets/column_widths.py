"""Which columns of a table fit, and how wide each is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from kdissect.report.cells import TableColumn

GAP = 2  # cells between columns
_WIDEST = 60  # of any column but the last that is shown
_EASY = 16  # of a text: enough to recognize it
LEAST = 8


class Placed(NamedTuple):
    """A column on the screen: its number in the table, where it begins, how wide it is."""

    column: int
    start: int
    width: int


def place_columns(columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], width: int) -> list[Placed]:
    """Columns of a table `width` cells wide, with some of its rows as texts.

    Where there is little room long texts shrink, then columns of the highest rank go, of equal ones the
    last; then whatever is left shrinks. What is left over belongs to the last column, if it is text.
    """
    wanted = [_wanted(column, [row[i] for row in texts]) for i, column in enumerate(columns)]
    easy = [_easy(column, own) for column, own in zip(columns, wanted, strict=True)]
    kept = [i for i in range(len(columns)) if wanted[i]]
    while len(kept) > 1 and _total([easy[i] for i in kept]) > width:
        rank, index = max((columns[i].rank, i) for i in kept)
        if rank == 0:
            break
        kept.remove(index)
    least = [min(easy[i], wanted[i] if columns[i].right else LEAST) for i in kept]
    widths = _shrunk([wanted[i] for i in kept], [easy[i] for i in kept], width)
    return _placed(columns, kept, _shrunk(widths, least, width), width)


def _wanted(column: TableColumn, texts: Sequence[str]) -> int:
    """0 for a column in which no row has anything: the room is better used for others."""
    longest = max(map(cell_len, texts), default=0)
    if texts and not longest:
        return 0
    return min(max(longest, cell_len(column.title)), _WIDEST)


def _easy(column: TableColumn, wanted: int) -> int:
    """What a column can go down to without hurt: the beginning of a text is often enough."""
    return wanted if column.right else min(wanted, max(cell_len(column.title), _EASY))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _shrunk(widths: list[int], least: Sequence[int], width: int) -> list[int]:
    """Take a cell after the other from the column that is furthest above its least."""
    found = list(widths)
    over = _total(found) - width
    while over > 0:
        at = max(range(len(found)), key=lambda i: found[i] - least[i])
        if found[at] <= least[at]:
            break
        found[at] -= 1
        over -= 1
    return found


def _placed(
    columns: Sequence[TableColumn], kept: Sequence[int], widths: Sequence[int], width: int
) -> list[Placed]:
    placed, start = [], 0
    for at, index in enumerate(kept):
        is_last = at == len(kept) - 1 and not columns[index].right
        own = max(widths[at], width - start) if is_last else widths[at]
        placed.append(Placed(index, start, own))
        start += own + GAP
    return placed
