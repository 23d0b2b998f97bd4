"""A table of plain rows: it makes only lines on the screen, so that the table's length costs no time.

Rows and columns (`report.columns`) come from `kdissect topics`, `groups` ...: the command line and the screen
show the same table. A cell is chosen, for the keys that act on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kdissect.report.cells import Cell, TableColumn
from kdissect.tui.widgets.row_order import Order, headed, next_order, ordered
from kdissect.tui.widgets.safe_text import cut, cut_middle, fitted, safe

Row = dict[str, Any]
Key = Callable[[Row], object]
R = TypeVar("R")
GUTTER = 2  # cells before a row, for the mark of the chosen one
SAMPLE = 200  # rows from the top that define the widths
GAP = 2  # cells between columns
_WIDEST = 60  # of any shown column but the last
_EASY = 16  # of a text: enough to recognize it
LEAST = 8
_LESSER = 2  # rank of columns that give way to names


class _OfRow(Message, Generic[R]):
    """About a row of a table."""

    def __init__(self, table: RowsTable, row: R) -> None:
        super().__init__()
        self.table = table
        self.row = row

    @property
    def control(self) -> RowsTable:
        """The table."""
        return self.table


class RowsTable(ScrollView, can_focus=True):
    """Table that shows rows. `row` and `column` are the chosen row and column."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "go_to(0)", "First", show=False),
        Binding("end,G", "go_to(-1)", "Last", show=False),
        Binding("left,h", "across(-1)", "Column to the left", show=False),
        Binding("right,l", "across(1)", "Column to the right", show=False),
        Binding("o", "sort", "Sort by the chosen column: up, down, as it came", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--head", "table--cursor", "table--cursor-blurred", "table--cell", "table--bad",
        "table--odd", "table--good", "table--dim", "table--name", "table--bold",
    }  # fmt: skip
    DEFAULT_CSS = """
    RowsTable {
        background: $surface; color: $foreground; height: 1fr;
        overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1;
        & > .table--head { text-style: bold; color: $primary; }
        & > .table--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
        & > .table--cursor-blurred { background: $block-cursor-blurred-background; text-style: bold; }
        & > .table--cell { text-style: underline; }
        & > .table--bad { color: $text-error; }
        & > .table--odd { color: $text-warning; }
        & > .table--good { color: $text-success; }
        & > .table--dim { color: $text-muted; }
        & > .table--name { color: $text-primary; }
        & > .table--bold { text-style: bold; }
    }
    """

    class Highlighted(_OfRow[Row | None]):
        """The cursor is on another row; None: there is none."""

    class Chosen(_OfRow[Row]):
        """A double click, or the view's key for it."""

    class NearEnd(Message):
        """The last rows are on the screen: who has more may bring them."""

        def __init__(self, table: RowsTable) -> None:
            super().__init__()
            self.table = table

    def __init__(self, key: Key | None = None, empty: str = "nothing yet", id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._key = key
        self.order: Order | None = None
        """The order of the rows."""
        self.stays: Callable[[Row], bool] = lambda row: False
        """Rows that come last in any order: sums."""
        self._given: Sequence[Row] = ()
        self._is_moved = False
        self._empty = empty
        self._columns: Sequence[TableColumn] = ()
        self._rows: Sequence[Row] = ()
        self._placed: list[Placed] = []
        self._ends: set[int] = set()  # columns whose texts are distinguished by their ends
        self._measured = -1
        self._at = 0
        self._across = 0

    def show(self, columns: Sequence[TableColumn], rows: Sequence[Row], empty: str | None = None) -> None:
        """Show rows. The cursor stays on the row of the same key, else at its position."""
        before = self.row
        self._given = rows
        self._columns, self._rows = columns, ordered(rows, columns, self.order, self.stays)
        if empty is not None:
            self._empty = empty
        # The first row of a first snapshot was not chosen by the user: it may be the sum, the last row of the
        # next.
        self._at = self._position_of(before) if self._is_moved else 0
        self._measured = -1
        self._lay_out()
        if self._named(self.row) != self._named(before) or before is None:
            self.post_message(self.Highlighted(self, self.row))
        self.refresh()

    @property
    def row(self) -> Row | None:
        """The row with the cursor."""
        return self._rows[self._at] if 0 <= self._at < len(self._rows) else None

    @property
    def rows(self) -> Sequence[Row]:
        """All rows."""
        return self._rows

    @property
    def column(self) -> TableColumn | None:
        """The column of the chosen cell."""
        if not self._placed:
            return None
        return self._columns[self._placed[min(self._across, len(self._placed) - 1)].column]

    @property
    def cell(self) -> Cell | None:
        """The chosen cell."""
        row, column = self.row, self.column
        return None if row is None or column is None else column.cell(row)

    def go_to(self, position: int) -> None:
        """Put the cursor on a row."""
        position = max(0, min(position, len(self._rows) - 1))
        if position != self._at:
            self._is_moved = True
            self._at = position
            self.post_message(self.Highlighted(self, self.row))
        self._reveal()
        self.refresh()

    def _named(self, row: Row | None) -> object:
        return None if row is None else id(row) if self._key is None else self._key(row)

    def _position_of(self, row: Row | None) -> int:
        last = max(len(self._rows) - 1, 0)
        if row is None or self._key is None:
            return min(self._at, last)
        key = self._key(row)
        if self._at <= last and self._rows and self._key(self._rows[self._at]) == key:
            return self._at
        found = next((at for at, other in enumerate(self._rows) if self._key(other) == key), None)
        return min(self._at, last) if found is None else found

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        if self._measured == width:
            return
        self._measured = width
        sample = [[safe(column.cell(row).text) for column in self._columns] for row in self._rows[:SAMPLE]]
        self._placed = place_columns(self._headed(), sample, width - GUTTER)
        self._ends = {one.column for one in self._placed if _need_ends(one, sample)}
        self._across = min(self._across, max(len(self._placed) - 1, 0))
        self.virtual_size = Size(width, len(self._rows) + 1)

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        self._measured = -1
        self._lay_out()

    # drawing

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen. The first line is the heading."""
        width = self.size.width
        style = self.rich_style
        if not self._rows:
            text = self._empty if y == 1 else ""
            return Strip([Segment(fitted(f" {text}", width), style + self._part("dim"))])
        if y == 0:
            return self._head(width, style)
        at = self.scroll_offset.y + y - 1
        if at >= len(self._rows):
            return Strip.blank(width, style)
        return self._line(at, width, style)

    def _head(self, width: int, style: Style) -> Strip:
        style += self._part("head")
        columns = self._headed()
        texts = [
            fitted(columns[one.column].title, one.width, columns[one.column].right) for one in self._placed
        ]
        line = " " * GUTTER + (" " * GAP).join(texts)
        return Strip([Segment(line, style)]).adjust_cell_length(width, style)

    def _headed(self) -> Sequence[TableColumn]:
        order = self.order
        return (
            self._columns
            if order is None
            else [
                column._replace(title=headed(column.title, order, column.title)) for column in self._columns
            ]
        )

    def _line(self, at: int, width: int, style: Style) -> Strip:
        row = self._rows[at]
        is_cursor = at == self._at and self.can_focus
        if is_cursor:
            style += self._part("cursor" if self.has_focus else "cursor-blurred")
        segments = [Segment("> " if is_cursor else "  ", style)]  # not by colour alone
        for number, one in enumerate(self._placed):
            column = self._columns[one.column]
            cell = column.cell(row)
            own = style
            if cell.style and not is_cursor:
                own += self._part(cell.style)
            if is_cursor and self.has_focus and number == self._across:
                own += self._part("cell")
            if number:
                segments.append(Segment(" " * GAP, style))
            text = safe(cell.text)
            if one.column in self._ends:
                text = cut_middle(text, one.width)
            segments.append(Segment(fitted(text, one.width, column.right), own))
        return Strip(segments).adjust_cell_length(width, style)

    def _part(self, name: str) -> Style:
        return self.get_component_rich_style(f"table--{name}", partial=True)

    # keys and mouse

    def action_move(self, rows: int) -> None:
        """Move up and down."""
        self.go_to(self._at + rows)
        self._tell_end()

    def action_page(self, pages: int) -> None:
        """Move a screen up or down."""
        self.action_move(pages * max(self.size.height - 2, 1))

    def action_go_to(self, position: int) -> None:
        """Go to the first row, or the last (-1)."""
        self.go_to(len(self._rows) - 1 if position < 0 else position)
        self._tell_end()

    def action_across(self, columns: int) -> None:
        """Move to another cell of the row."""
        self._across = max(0, min(self._across + columns, len(self._placed) - 1))
        self.refresh()

    def action_sort(self) -> None:
        """Sort by the chosen column: the least first, the most first, as the rows came."""
        column = self.column
        if column is None or not column.title:
            return
        self.order = next_order(self.order, column.title)
        row = self.row
        self._rows = ordered(self._given, self._columns, self.order, self.stays)
        self._at = next((at for at, other in enumerate(self._rows) if other is row), 0)
        self._measured = -1
        self._lay_out()
        self._reveal()
        self.refresh()

    def choose(self) -> None:
        """Open the row."""
        row = self.row
        if row is not None:
            self.post_message(self.Chosen(self, row))

    def on_click(self, event: events.Click) -> None:
        """Choose a cell at a click, open its row at a second one, sort at one on a title."""
        at = self.scroll_offset.y + event.y - 1
        if event.y >= 1 and not 0 <= at < len(self._rows):
            return
        was = at == self._at
        for number, one in enumerate(self._placed):
            if one.start <= event.x - GUTTER < one.start + one.width + GAP:
                self._across = number
        if event.y < 1:
            self.action_sort()
            return
        self.go_to(at)
        if was and event.chain > 1:
            self.choose()

    def _reveal(self) -> None:
        """Have the cursor on the screen, below the heading."""
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if self._at < top:
            self.scroll_to(y=self._at, animate=False)
        elif self._at > top + height - 2:
            self.scroll_to(y=self._at - height + 2, animate=False)

    def _tell_end(self) -> None:
        if self._at >= len(self._rows) - self.size.height:
            self.post_message(self.NearEnd(self))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Mark the chosen cell only while the table receives keys."""
        super().watch_has_focus(has_focus)
        self.refresh()


# Which columns of a table fit, and how wide each is.
class Placed(NamedTuple):
    """A column on the screen: its number in the table, its start, its width."""

    column: int
    start: int
    width: int


def _need_ends(one: Placed, texts: Sequence[Sequence[str]]) -> bool:
    """Return whether different texts of a column look equal if only their beginnings are visible."""
    own = {row[one.column] for row in texts}
    return len({cut(text, one.width) for text in own}) < len(own)


def place_columns(columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], width: int) -> list[Placed]:
    """Place the columns of a table `width` cells wide, with some of its rows as texts.

    If there is little space, long texts shrink, then columns of the highest rank go, the last of equal rank
    first. Names that are not readable then take the space of columns of rank 2 and higher. At last all texts
    shrink, and the last columns go. Space that is left over belongs to texts that are longer than `_WIDEST`,
    then to the last column, if it is text.
    """
    longest = [_longest(column, [row[i] for row in texts]) for i, column in enumerate(columns)]
    wanted = [min(own, _WIDEST) for own in longest]
    easy = [_easy(column, own) for column, own in zip(columns, wanted, strict=True)]
    readable = [max(easy[i], min(own, columns[i].readable)) for i, own in enumerate(wanted)]
    easy = [readable[i] if column.rank >= _LESSER else easy[i] for i, column in enumerate(columns)]
    ranks = [column.rank for column in columns]
    kept = _fitting([i for i, own in enumerate(wanted) if own], easy, ranks, 1, width)
    fewer = _fitting(kept, readable, ranks, _LESSER, width)
    if _total([readable[i] for i in fewer]) <= width:
        kept, easy = fewer, readable
    for _, index in sorted((ranks[i], i) for i, own in enumerate(wanted) if own and i not in kept):
        if _total([easy[i] for i in (*kept, index)]) <= width:  # narrower than what had to go
            kept = sorted((*kept, index))
    least = [min(easy[i], wanted[i] if columns[i].right else LEAST) for i in kept]
    widths = _shrunk([wanted[i] for i in kept], [easy[i] for i in kept], width)
    widths = _shrunk(widths, least, width)
    while len(widths) > 1 and _total(widths) > width:
        widths.pop()
    kept = kept[: len(widths)]
    return _placed(columns, kept, _grown(widths, [longest[i] for i in kept], width), width)


def _fitting(
    columns: Sequence[int], widths: Sequence[int], ranks: Sequence[int], least: int, width: int
) -> list[int]:
    """Return the columns without those of the highest rank, `least` or higher, that do not fit."""
    kept = list(columns)
    while len(kept) > 1 and _total([widths[i] for i in kept]) > width:
        rank, index = max((ranks[i], i) for i in kept)
        if rank < least:
            break
        kept.remove(index)
    return kept


def _longest(column: TableColumn, texts: Sequence[str]) -> int:
    """Return 0 for a column whose rows are all empty, to use its space for other columns."""
    longest = max(map(cell_len, texts), default=0)
    if texts and not longest:
        return 0
    return max(longest, cell_len(column.title))


def _easy(column: TableColumn, wanted: int) -> int:
    """Return the width to which a column shrinks without loss: the beginning of a text is often enough."""
    return wanted if column.right else min(wanted, max(cell_len(column.title), column.min_width, _EASY))


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


def _grown(widths: Sequence[int], longest: Sequence[int], width: int) -> list[int]:
    """Add a cell after the other to the narrowest column that has a longer text."""
    found = list(widths)
    for _ in range(width - _total(found)):
        cut = [i for i, own in enumerate(longest) if found[i] < own]
        if not cut:
            break
        found[min(cut, key=found.__getitem__)] += 1
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
