"""A table, and below it lines about its row: read or computed in a thread, when the cursor rests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widgets import Static

from kdissect.tui.views.tables import TablesView
from kdissect.tui.widgets.hand_over import hand_over, is_there
from kdissect.tui.widgets.rows_table import Row, RowsTable
from kdissect.tui.widgets.styled_lines import Line, Lines

# Seconds after which a row is drawn: a repeated key skips rows without drawing them.
REST_S = 0.05


class LinesBelowView(TablesView):
    """A view with lines below its table. Subclasses return the lines of a row."""

    below_title: ClassVar[str] = ""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._rest: Timer | None = None
        self._told: object = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There are no further tables below."""
        return False if action == "detail" else super().check_action(action, parameters)

    def lines(self, row: Row) -> Sequence[Line]:
        """Return the lines about a row. Called in a thread. Raises no exception."""
        raise NotImplementedError

    def lines_of_none(self) -> Sequence[Line]:
        """Return the lines while the table has no row."""
        return ()

    def compose(self) -> ComposeResult:
        """Summary, table, title, lines."""
        yield Static(classes="summary")
        yield RowsTable(self.key, self.waiting, id="main")
        yield Static(Text(self.below_title), classes="titles")
        yield Lines(id="below")

    @property
    def about(self) -> Lines:
        """The lines."""
        return self.query_one("#below", Lines)

    def on_resize(self) -> None:
        """Make the lines for the new width."""
        self._show_details()

    def _show_details(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, self._rested)

    def _rested(self) -> None:
        if not is_there(self):
            return
        row = self.table.row
        if row is None:
            self._told = None
            self.about.show(self.lines_of_none())
            return
        self._tell(row)

    @work(thread=True, exclusive=True, group="lines")
    def _tell(self, row: Row) -> None:
        lines = self.lines(row)
        hand_over(self, self._take, row, lines)

    def _take(self, row: Row, lines: Sequence[Line]) -> None:
        key = self.key(row)
        if self.table.row is None or self.key(self.table.row) != key:
            return
        self.about.show(lines, keep_place=self._told == key)
        self._told = key
