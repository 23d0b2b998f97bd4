"""The view that most views are: a table, and below it what belongs to its row, in further tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from kdissect.report.cells import TableColumn
from kdissect.tui.session import FINDINGS, Change
from kdissect.tui.view import Notice, UseFilter, View
from kdissect.tui.views.quick_filters import Maker, negated
from kdissect.tui.widgets.rows_table import Row, RowsTable

_OF_ALL = "; of all exchanges, whatever the filter takes: a stream is counted once"


# Rows that a table shows at least, and the number above which its height has no other limit than the screen.
_LEAST_ROWS, _MANY_ROWS = 3, 100


_BARS = 2  # lines for the summary and the titles
_HEAD = 1  # line with the titles of columns


class _Unfocused(RowsTable, can_focus=False):
    """A table whose rows are only shown."""


class Detail(NamedTuple):
    """A table below: its title, its columns, its rows."""

    title: str
    columns: Sequence[TableColumn]
    rows: Sequence[Row]


class TablesView(View):
    """A view of tables. Subclasses choose the tables, and a study has the rows.

    `cell_filters` maps the title of a column to the field of a filter on one of its cells.
    """

    first_focus = "#main"
    study: ClassVar[str] = ""
    waiting: ClassVar[str] = "counting ..."
    nothing: str = "nothing was seen"
    cell_filters: ClassVar[Mapping[str, Maker]] = {}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Exchanges", tooltip="The exchanges that the row is about"),
        Binding(
            "equals_sign", "cell(True)", "Only such", key_display="=", tooltip="Filter by the chosen cell"
        ),
        Binding("minus", "cell(False)", "None of such", key_display="-", show=False),
        Binding("d", "detail(1)", "Details", tooltip="The next table below"),
        Binding("D", "detail(-1)", "Details back", show=False),
        Binding("tab,shift+tab", "other_pane", "The other pane", show=False),
        Binding("z", "zoom", "Zoom pane", show=False),
    ]
    DEFAULT_CSS = """
    TablesView { layout: vertical; }
    TablesView .summary { height: 1; color: $text-muted; padding: 0 1; }
    TablesView .titles { height: 1; padding: 0 1; background: $panel; }
    TablesView .summary, TablesView .titles { text-wrap: nowrap; text-overflow: ellipsis; }
    TablesView #main { height: 3fr; }
    TablesView #below { height: 2fr; }
    TablesView #more { height: 1fr; display: none; }
    TablesView #more.-used { display: block; }
    TablesView #more RowsTable { height: auto; overflow-y: hidden; }
    TablesView.-zoom-main .titles, TablesView.-zoom-main #below { display: none; }
    TablesView.-zoom-main #more, TablesView.-zoom-below #more { display: none; }
    TablesView.-zoom-below .summary, TablesView.-zoom-below #main { display: none; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._details: list[Detail] = []
        self._detail = 0
        self._is_asked = False  # whether a key chose the table below
        self._count = 0
        self._most_lines: int | None = None

    # what subclasses say

    def key(self, row: Row) -> object:
        """Return the identity of a main table's row, which is equal in the next snapshot."""
        raise NotImplementedError

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the columns and rows of the main table."""
        raise NotImplementedError

    def details(self, row: Row) -> list[Detail]:
        """Return the tables below for a row."""
        raise NotImplementedError

    def summary(self, facts: Any, count: int) -> str:
        """Return one line about all rows, safe to show."""
        raise NotImplementedError

    def row_filter(self, row: Row) -> str | None:
        """Return which exchanges a row is about."""
        raise NotImplementedError

    # the tables

    def compose(self) -> ComposeResult:
        """Summary, table, titles of the tables below, one of them."""
        yield Static(classes="summary")
        yield RowsTable(self.key, self.waiting, id="main")
        yield Static(classes="titles")
        yield RowsTable(None, "", id="below")
        yield Vertical(id="more")

    def on_resize(self) -> None:
        """There is another number of lines for the tables below."""
        self._show_more()

    def shown(self) -> None:
        """Show what is known by now."""
        self._show()

    def session_changed(self, change: Change, what: str) -> None:
        """Show the next snapshot."""
        if change is Change.RESULT and what == self.study:
            self._show()

    @property
    def table(self) -> RowsTable:
        """The main table."""
        return self.query_one("#main", RowsTable)

    @property
    def below(self) -> RowsTable:
        """The table below."""
        return self.query_one("#below", RowsTable)

    def _show(self) -> None:
        facts = self.result(self.study)
        if facts is None:
            return
        columns, rows = self.main(facts)
        self.table.show(columns, rows, self.nothing if self.is_whole else self.waiting)
        self._count = len(rows)
        self._share()
        how = self.summary(facts, len(rows))
        if not self.is_whole:
            how += f"; still counting{self.read_text}"
        if self.session.filter_text and self.study != FINDINGS:
            how += _OF_ALL if self.session.is_stream else "; of the exchanges that the filter takes"
        self.query_one(".summary", Static).update(Text(how, no_wrap=True, overflow="ellipsis", end=""))
        self._show_details()

    @property
    def is_whole(self) -> bool:
        """Whether the view shows the result of the whole input."""
        return self.study in self.session.final

    @property
    def read_text(self) -> str:
        """The part of the input that the view covers, or an empty text for a stream."""
        return "" if self.session.is_stream else f", {self.session.how_far(self.study):.0%} read"

    def _share(self) -> None:
        """Give what few rows do not need to the pane below."""
        least = max(self._count, _LEAST_ROWS) + 1  # and the titles
        most = None if self._is_zoomed or self._count > _MANY_ROWS else least
        if self._most_lines != most:
            self._most_lines = most
            self.table.styles.max_height = most

    @on(RowsTable.Highlighted, "#main")
    def _moved(self, event: RowsTable.Highlighted) -> None:
        event.stop()
        self._show_details()

    def _show_details(self) -> None:
        row = self.table.row
        self._details = [] if row is None else self.details(row)
        self._detail = min(self._detail, max(len(self._details) - 1, 0))
        if not self._is_asked:  # the first with anything in it
            self._detail = next((at for at, detail in enumerate(self._details) if detail.rows), 0)
        self._show_detail()

    def _show_detail(self) -> None:
        titles = Text(no_wrap=True, overflow="ellipsis", end="")
        for number, detail in enumerate(self._details):
            title = f"{detail.title} {len(detail.rows)}"
            is_shown = number == self._detail
            titles.append(f"[{title}]" if is_shown else f" {title} ", "bold" if is_shown else "dim")
            titles.append(" ")
        self.query_one(".titles", Static).update(titles)
        if self._details:
            detail = self._details[self._detail]
            self.below.show(detail.columns, detail.rows, f"no {detail.title}")
        else:
            self.below.show((), (), "")
        self._show_more()

    def _show_more(self) -> None:
        """Show other tables after the chosen one, in lines that would be empty."""
        for more in self.query("#more"):
            self._fill(more)

    def _fill(self, more: Widget) -> None:
        others = [detail for at, detail in enumerate(self._details) if at != self._detail and detail.rows]
        chosen = max(len(self._details[self._detail].rows), 2) + _HEAD if self._details else 0
        # The main table may take any number of lines if it has many rows, or is alone.
        free = -1 if self._most_lines is None else self.size.height - _BARS - self._most_lines - chosen
        shown = []
        for detail in others:
            free -= len(detail.rows) + _HEAD + 1  # and its title
            if free < 0:
                break
            shown.append(detail)
        more.set_class(bool(shown), "-used")
        self.below.styles.max_height = chosen if shown else None
        if not shown:
            return
        tables: list[RowsTable] = list(more.query(RowsTable))
        for _ in shown[len(tables) :]:
            tables.append(_Unfocused(None, ""))
            more.mount(Static(classes="titles"), tables[-1])
        titles = list(more.query(".titles").results(Static))
        for at, (title, table) in enumerate(zip(titles, tables, strict=True)):
            title.display = table.display = at < len(shown)
            if at < len(shown):
                detail = shown[at]
                title.update(Text(f" {detail.title} {len(detail.rows)} ", "dim", end=""))
                table.styles.height = len(detail.rows) + _HEAD
                table.show(detail.columns, detail.rows)

    # keys

    def action_detail(self, step: int) -> None:
        """Show the next table below."""
        if self._details:
            self._is_asked = True
            self._detail = (self._detail + step) % len(self._details)
            self._show_detail()

    def action_other_pane(self) -> None:
        """Switch between the table and the pane below it."""
        name = "main" if self.query_one("#below").has_focus else "below"
        if self._is_zoomed:
            self._zoom(name)
        self.query_one(f"#{name}").focus()

    def action_zoom(self) -> None:
        """Give the whole space to one pane, or share it again."""
        self._zoom("" if self._is_zoomed else "below" if self.query_one("#below").has_focus else "main")

    @property
    def _is_zoomed(self) -> bool:
        return self.has_class("-zoom-main") or self.has_class("-zoom-below")

    def _zoom(self, name: str) -> None:
        for each in ("main", "below"):
            self.set_class(each == name, f"-zoom-{each}")
        self._share()
        self._show_more()

    def action_exchanges(self) -> None:
        """Show the exchanges of a row in their list."""
        row = self.table.row
        expression = None if row is None else self.row_filter(row)
        if expression is None:
            self.post_message(Notice("no exchange names this"))
            return
        self.show_exchanges(expression)

    def show_exchanges(self, expression: str) -> None:
        """Filter, and go to the list."""
        self.post_message(UseFilter(expression))
        self.run_worker(self.app.run_action("view('exchanges')"))

    def action_cell(self, takes: bool) -> None:
        """Filter by the chosen cell, or by what it is not."""
        table = self.focused_table
        row, column = table.row, table.column
        maker = None if column is None else self.cell_filters.get(column.title)
        expression = None if maker is None or row is None else maker(row)
        if expression is None:
            what = "" if column is None else f" of the column {column.title}"
            self.post_message(Notice(f"a cell{what} is no value that exchanges can be filtered by"))
            return
        self.post_message(UseFilter(expression if takes else negated(expression), extend=True))

    @on(RowsTable.Chosen)
    def _chosen(self, event: RowsTable.Chosen) -> None:
        event.stop()
        self.choose(event.table, event.row)

    def action_choose(self) -> None:
        """Enter, in either table."""
        table = self.focused_table
        if table.row is not None:
            self.choose(table, table.row)

    @property
    def focused_table(self) -> RowsTable:
        """The table that has the keys."""
        below = self.query_one("#below")
        return below if isinstance(below, RowsTable) and below.has_focus else self.table

    def choose(self, table: RowsTable, row: Row) -> None:
        """Open a row."""
        self.action_exchanges()
