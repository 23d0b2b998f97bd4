"""Asks which columns the list of exchanges has."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kdissect.tui.panes.exchange_columns import COLUMNS, ExchangeColumn

Names = tuple[str, ...]


class ColumnScreen(ModalScreen[Names]):
    """Screen that returns the names of the chosen columns. An empty tuple means all that fit."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Done"),
        Binding("space", "turn", "Show or hide"),
        Binding("a", "all", "All that fit"),
    ]
    DEFAULT_CSS = """
    ColumnScreen { align: center middle; }
    ColumnScreen #column-box {
        width: 44; max-width: 100%; height: auto; max-height: 100%; border: round $primary;
        background: $surface; padding: 0 1;
    }
    ColumnScreen OptionList { height: auto; max-height: 16; background: $surface; }
    ColumnScreen OptionList, ColumnScreen OptionList:focus { border: none; }
    """

    def __init__(self, wanted: Names, fitting: Collection[str]) -> None:
        super().__init__()
        self._wanted = {column.name for column in COLUMNS if not wanted or column.name in wanted}
        self._fitting = fitting

    def compose(self) -> ComposeResult:
        """Make a line for each column."""
        with Vertical(id="column-box"):
            yield Static("Columns: Enter turns one, a shows all", markup=False)
            yield OptionList(*(Option(self._line(column), column.name) for column in COLUMNS), id="columns")
            yield Static("Esc: done", markup=False)

    def on_mount(self) -> None:
        """Keys go to the lines."""
        self.query_one(OptionList).focus()

    def _line(self, column: ExchangeColumn) -> Text:
        is_wanted = column.name in self._wanted
        room = "" if not is_wanted or column.name in self._fitting else "  (no room here)"
        return Text(f"[{'x' if is_wanted else ' '}] {column.title}{room}")

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_turn()

    def action_turn(self) -> None:
        """Show or hide the column of the line. One column always stays."""
        options = self.query_one(OptionList)
        if options.highlighted is None:
            return
        name = COLUMNS[options.highlighted].name
        changed = self._wanted ^ {name}
        if changed:
            self._wanted = changed
            self._fitting = {*self._fitting, name}  # its width is checked on display
            self._draw()

    def action_all(self) -> None:
        """Show all columns that fit."""
        self._wanted = {column.name for column in COLUMNS}
        self._draw()

    def _draw(self) -> None:
        options = self.query_one(OptionList)
        for index, column in enumerate(COLUMNS):
            options.replace_option_prompt_at_index(index, self._line(column))

    def action_leave(self) -> None:
        """Use them."""
        names = tuple(column.name for column in COLUMNS if column.name in self._wanted)
        self.dismiss(() if len(names) == len(COLUMNS) else names)
