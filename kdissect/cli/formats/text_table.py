"""A table for people, row by row: widths come from the first rows, and only the first rows are buffered."""

import shutil
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from kdissect.cli.colour import paint, wants_colour
from kdissect.cli.formats.named_fields import ROW_COLOR, Room, as_columns
from kdissect.cli.output import Output, folded
from kdissect.engine.row_columns import Column
from kdissect.report.cells import Cell, TableColumn, cell

# Rows that determine the widths. A live capture shows each row at once, with the minimum widths of the
# headings.
_SAMPLE_ROWS = 200
_DAY = len("2026-11-22")
_MAX_WIDTH = 48  # of any column but the last
_GAP = "  "
_ELLIPSIS = "…"
_NARROWEST = 6  # of a column that is cut


class TableFormat:
    """`width` is that of the terminal, None where lines may be of any length."""

    end = b"\n"
    is_stripped = True

    def __init__(
        self, columns: Sequence[TableColumn], colour: bool, width: int | None, header: bool, sample: int
    ) -> None:
        self._columns = list(columns)
        self._colour = colour
        self._width = width
        self._header = header
        self._sample = sample
        self._held: list[dict[str, Any]] = []
        self._left_out: list[str] = []
        self._widths: list[int] | None = None
        self.values: list[str] | None = None
        """The text of each column, once the widths are known."""

    def head(self) -> bytes:
        """Nothing yet: the widths are not known."""
        return b""

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row, held back while widths are being found."""
        if self._widths is not None:
            return self._print(_cells(row, self._columns))
        self._held.append(row)
        return b"" if len(self._held) < self._sample else self._release()

    def tail(self) -> bytes:
        """Return the delayed rows, if there were fewer than the sample, and the headings, also for an empty
        table.

        Then what there was no room for.
        """
        rest = self._release() if self._widths is None else b""
        if not self._left_out:
            return rest
        text = f"{_ELLIPSIS} no room for {', '.join(self._left_out)}: --wide shows all"
        text = folded(text, self._width or len(text))
        return rest + (paint(text, "dim") if self._colour else text).encode() + b"\n"

    def _release(self) -> bytes:
        rows, self._held = self._held, []
        if not self._columns:
            return b""
        self._columns = [_of_days(column, rows) for column in self._columns]
        held = [_cells(row, self._columns) for row in rows]
        widths = [
            min(
                max([column.min_width, cell_len(column.title), *(cell_len(cells[i].text) for cells in held)]),
                _MAX_WIDTH,
            )
            for i, column in enumerate(self._columns)
        ]
        kept = self._kept(widths)
        self._shrink(kept, widths)
        self._left_out = [
            column.title for i, column in enumerate(self._columns) if i not in kept and column.title
        ]
        self._columns = [self._columns[i] for i in kept]
        self._widths = [widths[i] for i in kept]
        self.values = [column.value for column in self._columns]
        lines = [[cells[i] for i in kept] for cells in held]
        if self._header:
            lines.insert(0, [Cell(column.title, "bold") for column in self._columns])
        return b"".join(map(self._print, lines))

    def _kept(self, widths: list[int]) -> list[int]:
        """Return indexes of the columns that fit. The last one may be cut down to its heading."""
        kept = list(range(len(widths)))
        while self._width is not None and self._least(kept, widths) > self._width:
            rank, index = max((self._columns[i].rank, i) for i in kept)
            if rank == 0:
                break
            kept.remove(index)
        return kept

    def _shrink(self, kept: list[int], widths: list[int]) -> None:
        """Cut the widest columns down, if the remaining ones do not fit."""
        while self._width is not None and (excess := self._least(kept, widths) - self._width) > 0:
            widest = max(kept[:-1], key=widths.__getitem__, default=-1)
            if widest < 0 or widths[widest] <= _NARROWEST:
                return
            others = [widths[i] for i in kept[:-1] if i != widest]
            widths[widest] = max(
                widths[widest] - excess, min(max(others, default=0), widths[widest] - 1), _NARROWEST
            )

    def _least(self, kept: list[int], widths: list[int]) -> int:
        columns = self._columns
        last = max(columns[kept[-1]].min_width, cell_len(columns[kept[-1]].title))
        return sum(widths[i] for i in kept[:-1]) + len(_GAP) * (len(kept) - 1) + last

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """Return the cell of a column in its width, after a gap."""
        gap = _GAP if at else ""
        return (gap + self._sized(at, self._columns[at].cell(row))).encode("utf-8", "replace")

    def room(self, at: int, row: dict[str, Any]) -> Room:
        """Return the width of a column, and its style."""
        gap, style = _GAP if at else "", self._columns[at].cell(row).style
        before, behind = paint("\0", style).split("\0") if self._colour else ("", "")
        side = 0 if at == len(self._columns) - 1 else 1 if self._columns[at].right else -1
        return Room((gap + before).encode(), behind.encode(), self._width_of(at), side)

    def _print(self, cells: list[Cell]) -> bytes:
        parts = [self._sized(at, shown) for at, shown in enumerate(cells)]
        return (_GAP.join(parts).rstrip() + "\n").encode("utf-8", "replace")

    def _sized(self, at: int, shown: Cell) -> str:
        text, width = shown.text, self._width_of(at)
        if at < len(self._columns) - 1:
            text = _sized(text, width, self._columns[at].right)
        elif width:
            text = _cut(text, width)
        return paint(text, shown.style) if self._colour else text

    def _width_of(self, at: int) -> int:
        """Return the width of a column; for the last one the remaining width of the terminal, 0 for
        no limit.
        """
        widths, last = self._widths, len(self._columns) - 1
        assert widths is not None
        if at < last:
            return widths[at]
        if self._width is None:
            return 0
        return max(self._width - sum(widths[:-1]) - len(_GAP) * last, cell_len(self._columns[at].title))


def _cells(row: dict[str, Any], columns: Sequence[TableColumn]) -> list[Cell]:
    color = row.get(ROW_COLOR)
    cells = (column.cell(row) for column in columns)
    return [Cell(shown.text, color) if color else shown for shown in cells]


def _of_days(column: TableColumn, rows: Sequence[dict[str, Any]]) -> TableColumn:
    """Return the column with dates, where the rows are of several days."""
    if column.dated is None:
        return column
    texts = (column.dated(row).text for row in rows)
    if len({text[:_DAY] for text in texts if text}) < 2:
        return column
    return column._replace(cell=column.dated, value="", dated=None)


def _sized(text: str, width: int, right: bool) -> str:
    """`text` in exactly `width` cells."""
    length = cell_len(text)
    if length > width:
        return _cut(text, width)
    padding = " " * (width - length)
    return padding + text if right else text + padding


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + _ELLIPSIS


def table(columns: Sequence[TableColumn], options: Namespace, output: Output, live: bool) -> TableFormat:
    """Return a table as the user and the output want it."""
    colour = wants_colour(options.color, output.is_terminal)
    is_narrow = output.is_terminal and not getattr(options, "wide", False)
    width = shutil.get_terminal_size().columns if is_narrow else None
    return TableFormat(columns, colour, width, options.header, 1 if live else _SAMPLE_ROWS)


def chosen_columns(columns: Sequence[str | Column]) -> list[TableColumn]:
    """Return columns for `-e`: all of them appear, however narrow the terminal."""
    return [TableColumn(column.name, _chosen(column), value=column.place) for column in as_columns(columns)]


def _chosen(column: Column) -> Any:
    return lambda row: Cell(cell(column.value(row)))
