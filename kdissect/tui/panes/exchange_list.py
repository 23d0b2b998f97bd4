"""The list of exchanges: a window on the log. It draws the lines on screen and makes no object for a row."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from kdissect.tui.panes.exchange_columns import COLUMNS, GUTTER, ExchangeColumn, fitting
from kdissect.tui.panes.exchange_order import Ordered
from kdissect.tui.panes.shown_exchanges import RowColors, Shown
from kdissect.tui.widgets.line_view import LineView
from kdissect.tui.widgets.safe_text import fitted, safe

_STYLES = ("dim", "name", "good", "odd", "bad")
_MARK = "●"


class ExchangeList(LineView):
    """The list of exchanges. `cursor` is a position in the list, not a row of the log. The heads are on its
    first line.
    """

    prefix = "list"
    heads = 1
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "list--head", "list--head-cursor", "list--cursor", "list--cursor-blurred",
        *(f"list--{name}" for name in _STYLES),
    }  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False),
        Binding("end,G", "last", "Last", show=False),
        Binding("left", "column(-1)", "Column left", show=False),
        Binding("right", "column(1)", "Column right", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    column: reactive[int] = reactive(0)

    class Moved(Message):
        """The cursor is on another exchange, or None if the list is empty."""

        def __init__(self, row: int | None) -> None:
            self.row = row
            super().__init__()

    class Opened(Message):
        """Enter, or a double click."""

    def __init__(self, shown: Shown, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._shown: Shown | Ordered = shown
        self.follows = False
        self.column_names: tuple[str, ...] = ()
        self._widths: list[tuple[ExchangeColumn, int]] = []
        self._longest: dict[str, int] = {}  # cells of the longest text on the screen so far, by column
        self._row: int | None = None
        self.row_colors: RowColors | None = None
        self.why_empty: Callable[[], str] = str
        """Returns the text of an empty list."""

    # content

    @property
    def shown(self) -> Shown | Ordered:
        """The rows in the list."""
        return self._shown

    @property
    def row(self) -> int | None:
        """The exchange under the cursor."""
        return self._shown[self.cursor] if 0 <= self.cursor < len(self._shown) else None

    def show(self, shown: Shown | Ordered) -> None:
        """Show other rows. The cursor stays with its exchange if it can."""
        self._shown = shown
        if self._row is not None and len(shown):
            self.set_reactive(ExchangeList.cursor, shown.near(self._row))
        self._longest.clear()
        self.grown()
        self._fit()
        self.refresh()
        self.call_after_refresh(self._show_cursor)

    def grown(self) -> None:
        """There are more rows, or fewer."""
        count = len(self._shown)
        had = self.virtual_size.height - self.heads
        self.set_lines(count)
        if self.follows and count:
            self.cursor = count - 1
        elif self.cursor >= count:
            self.cursor = max(count - 1, 0)
        self._tell()
        if count < had or had < self.top + self.visible_lines:
            self._fit_again()
            self.refresh()

    def go_to(self, position: int) -> None:
        """Move the cursor to a position of the list."""
        count = len(self._shown)
        self.cursor = max(0, min(position, count - 1))
        self._tell()

    def _tell(self) -> None:
        row = self.row
        if row != self._row:
            self._row = row
            self.post_message(self.Moved(row))

    def watch_column(self) -> None:
        """Draw the head that is chosen."""
        self.draw_lines(self.top - 1, self.top - 1)

    # drawing

    def on_resize(self) -> None:
        """Columns come and go with the width."""
        self._fit()
        self.grown()
        self.refresh()
        self._show_cursor()

    def _show_cursor(self) -> None:
        self.keep_in_sight(self.cursor)

    def _fit(self) -> None:
        self._measure()
        self._widths = fitting(self.column_names, self.scrollable_content_region.width, self._longest)
        self.column = min(self.column, max(len(self._widths) - 1, 0))

    def _measure(self) -> bool:
        """Measure the rows on the screen. Return whether a column has a longer text than before."""
        log, is_longer = self._shown.log, False
        for position in range(self.top, min(self.top + self.visible_lines, len(self._shown))):
            row = self._shown[position]
            for column in COLUMNS:
                cells = cell_len(column.cell(log, row)[0])
                if cells > self._longest.get(column.name, 0):
                    self._longest[column.name] = cells
                    is_longer = True
        return is_longer

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are on the screen, which may have longer texts."""
        super().watch_scroll_y(old_value, new_value)
        self.call_after_refresh(self._fit_again)

    def _fit_again(self) -> None:
        if self._measure():
            self._fit()
            self.refresh()

    @property
    def columns_on_screen(self) -> tuple[str, ...]:
        """Names of the columns that fit."""
        return tuple(column.name for column, _ in self._widths)

    def choose_columns(self, names: tuple[str, ...]) -> None:
        """Show these columns. An empty tuple means all that fit."""
        self.column_names = names
        self._fit()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the window: the heads, or an exchange."""
        if not self._widths:
            self._fit()
        width = self.size.width
        if y == 0:
            return self._heads(width)
        position = self.top + y - self.heads
        if position >= len(self._shown):
            return self._empty(y - self.heads, width)
        return self._line(position, width)

    def _heads(self, width: int) -> Strip:
        plain, chosen = self.named_style("head"), self.named_style("head-cursor")
        segments = [Segment(" " * GUTTER, plain)]
        for index, (column, cells) in enumerate(self._widths):
            is_chosen = index == self.column and self.has_focus
            title = self.head_of(column)
            title = f"[{title}]" if is_chosen and len(title) + 2 <= cells else title
            segments.append(Segment(fitted(title, cells, column.right), chosen if is_chosen else plain))
            segments.append(Segment(" ", plain))
        return Strip(segments).adjust_cell_length(width, plain).crop(0, width)

    def head_of(self, column: ExchangeColumn) -> str:
        """Return the title over a column."""
        return column.title

    def _empty(self, y: int, width: int) -> Strip:
        """Return a line after the last exchange. Without any exchange the line explains why."""
        lines = () if len(self._shown) else wrap(safe(self.why_empty()), max(width - 2 * GUTTER, 1))
        if y >= len(lines):
            return Strip.blank(width, self.base_style)
        style = self.base_style + self.named_style("dim")
        return Strip([Segment(" " * GUTTER + lines[y], style)]).adjust_cell_length(width, self.base_style)

    def _line(self, position: int, width: int) -> Strip:
        log, row = self._shown.log, self._shown[position]
        base = self.base_style
        if position == self.cursor:
            base = base + self.named_style("cursor" if self.has_focus else "cursor-blurred")
        color = "" if self.row_colors is None or position == self.cursor else self.row_colors.color(row)
        if color:
            base = base + Style.parse(color)
        mark = _MARK if log.marked[row] else ">" if position == self.cursor else " "
        segments = [Segment(mark + " ", base)]
        for column, cells in self._widths:
            text, name = column.cell(log, row)
            style = base if color or not name or position == self.cursor else base + self.named_style(name)
            segments.append(Segment(column.fitted(text, cells) + " ", style))
        return Strip(segments).adjust_cell_length(width, base).crop(0, width)

    # keys and mouse

    def action_move(self, step: int) -> None:
        """Move one line up or down."""
        self.follows = self.follows and step > 0
        self.go_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move a screenful up or down."""
        self.follows = False
        self.go_to(self.cursor + step * max(self.visible_lines - 1, 1))

    def action_first(self) -> None:
        """Go to the first exchange."""
        self.follows = False
        self.go_to(0)

    def action_last(self) -> None:
        """Go to the last exchange."""
        self.go_to(len(self._shown) - 1)

    def action_column(self, step: int) -> None:
        """Choose a column, for quick filters."""
        self.column = (self.column + step) % max(len(self._widths), 1)

    def action_open(self) -> None:
        """Look at the exchange."""
        self.post_message(self.Opened())

    @property
    def chosen_column(self) -> ExchangeColumn | None:
        """The column of the quick filters."""
        return self._widths[self.column][0] if self._widths else None

    def head_clicked(self) -> None:
        """Handle a click on a title. The column is already chosen."""

    def on_click(self, event: events.Click) -> None:
        """Move the cursor. A second click opens the exchange, and a click on a title chooses its column."""
        x, y = event.x, event.y
        at = GUTTER
        for index, (_, cells) in enumerate(self._widths):
            if at <= x <= at + cells:
                self.column = index
            at += cells + 1
        if y < 1:
            self.head_clicked()
        else:
            self.follows = False
            self.go_to(self.top + y - self.heads)
            if event.chain == 2:
                self.post_message(self.Opened())
