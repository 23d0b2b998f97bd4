"""The exchanges: the list, the fields of the one that is selected, and their bytes."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Static

from kdissect.engine.exchange_log.log import find_in
from kdissect.model.wording import plural
from kdissect.tui.panes.dissection import Buffer, Dissected, Item, inner_item
from kdissect.tui.panes.exchange_columns import known
from kdissect.tui.panes.exchange_list import ExchangeList
from kdissect.tui.panes.exchange_order import Ordered, next_flagged
from kdissect.tui.panes.field_tree import FieldTree
from kdissect.tui.panes.hex_pane import HexPane
from kdissect.tui.panes.shown_exchanges import RowColors
from kdissect.tui.panes.sorted_list import SortedList
from kdissect.tui.screens.column_screen import ColumnScreen
from kdissect.tui.screens.go_to import GoToScreen
from kdissect.tui.session import Change
from kdissect.tui.view import Field, Follow, Notice, Selected, UseFilter, View
from kdissect.tui.widgets.hand_over import hand_over, is_there
from kdissect.tui.widgets.safe_text import text

# Seconds after which the exchange at the cursor is read: a key that repeats runs over exchanges without
# reading them.
REST_S = 0.08


class ExchangesView(View):
    """List above, tree and bytes below."""

    first_focus: ClassVar[str] = "#list"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_pane", "Pane", tooltip="Next pane"),
        Binding("shift+tab", "next_pane(-1)", "Pane before", show=False),
        Binding("r", "other_side", "Resp/req", tooltip="To the response, or back to the request"),
        Binding("e", "next('troubled', 1)", "Error", tooltip="Next error"),
        Binding("E", "next('troubled', -1)", "Error before", show=False),
        Binding("n", "next('found', 1)", "Finding", tooltip="Next finding"),
        Binding("N", "next('found', -1)", "Finding before", show=False),
        Binding("m", "mark", "Mark", tooltip="Mark the exchange, or take the mark away"),
        Binding("apostrophe", "next('marked', 1)", "Next mark", show=False, key_display="'"),
        Binding("quotation_mark", "next('marked', -1)", "Mark before", show=False, key_display='"'),
        Binding("colon", "go_to", "Go to number or time", show=False, key_display=":"),
        Binding("equals_sign", "filter_cell('')", "Only such", show=False, key_display="="),
        Binding("minus", "filter_cell('not')", "None of such", show=False, key_display="-"),
        Binding("backspace", "clear_filter", "No filter", show=False),
        Binding("c", "follow_connection", "Follow connection", show=False),
        Binding("F", "follow", "Follow", tooltip="Follow new exchanges, or stop"),
        Binding("space", "freeze", "Freeze", show=False),
        Binding("C", "columns", "Columns", show=False, tooltip="Choose the columns"),
        Binding("z", "zoom", "Zoom pane", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._dissected: Dissected | None = None
        self._wanted: tuple[int, str, int, int, str] | None = None
        self._rest: Timer | None = None
        self._drawn: Item | None = None

    def compose(self) -> ComposeResult:
        """Three panes."""
        rows = SortedList(self.session.shown, id="list")
        rows.column_names = known(self.view_app.state.columns)
        rows.why_empty = self._why_empty
        session = self.session
        if session.coloring:
            rows.row_colors = RowColors(session.log, session.coloring, session.progress.file_names)
        yield rows
        with Horizontal(id="detail"):
            with Vertical(id="tree-box"):
                yield Static("fields", id="tree-title", classes="pane-title", markup=False)
                yield FieldTree(id="tree")
            with Vertical(id="hex-box"):
                yield Static("bytes", id="hex-title", classes="pane-title", markup=False)
                yield HexPane(id="hex")

    @property
    def rows(self) -> SortedList:
        """The list."""
        return self.query_one("#list", SortedList)

    @property
    def fields(self) -> FieldTree:
        """The fields."""
        return self.query_one("#tree", FieldTree)

    @property
    def bytes(self) -> HexPane:
        """The bytes."""
        return self.query_one("#hex", HexPane)

    @property
    def chosen_field(self) -> Field | None:
        """The field under the cursor of the tree, or of the bytes."""
        item = self.fields.item if self.fields.has_focus or self.bytes.has_focus else None
        if item is None or item.buffer is None or item.end <= item.start:
            return None
        return Field(item.label, item.buffer.shown(item.start, item.end))

    # what is new

    def shown(self) -> None:
        """Catch up."""
        self._catch_up()

    def session_changed(self, change: Change, what: str) -> None:
        """More rows, another filter."""
        if change in (Change.ROWS, Change.SHOWN, Change.LOADED):
            self._catch_up()
        elif change in (Change.CODES, Change.TROUBLE):
            self.rows.refresh()

    def _why_empty(self) -> str:
        session = self.session
        count = len(session.log)
        if session.shown.is_busy or session.is_loading:
            return "none yet ..."
        if count:
            return (
                f"the filter matches no exchange ({plural(count, 'exchange')} in all): / changes it, "
                "Backspace takes it away"
            )
        why = "; ".join((*session.troubles, *session.unread))
        return (
            f"no exchange was found: {why}" if why else "no exchange was found: nothing in the input is Kafka"
        )

    def _catch_up(self) -> None:
        shown = self.session.shown
        self.rows.catch_up(shown, not self.session.is_loading and not shown.is_busy)
        self._look_at_wanted()

    # the exchange that is selected

    @on(ExchangeList.Moved)
    def _moved(self, message: ExchangeList.Moved) -> None:
        if message.row is None:
            self._dissected = None
            self.fields.show(None, "no exchange yet" if self.session.is_loading else "nothing to show")
            self.bytes.show(None)
            return
        self.post_message(Selected(message.row))
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, self._rested)

    def _rested(self) -> None:
        if not is_there(self):
            return
        row = self.rows.row
        if row is not None and (self._dissected is None or self._dissected.row != row):
            self._dissect(row)

    @work(thread=True, exclusive=True, group="dissect")
    def _dissect(self, row: int) -> None:
        """Read and decode in a thread: a slow disk or a large body does not block the screen."""
        dissected = Dissected(self.session.log, row)
        hand_over(self, self._take, dissected)

    def _take(self, dissected: Dissected) -> None:
        if self.rows.row != dissected.row:
            return
        self._dissected = dissected
        self.fields.show(dissected)
        item = self.fields.item
        if item is not None:
            # At once: when the message comes the fields are drawn already, and all is drawn once more.
            self._show_bytes(item)
            self._drawn = item
        self._look_at_wanted()

    @on(FieldTree.Chosen)
    def _field_chosen(self, message: FieldTree.Chosen) -> None:
        drawn, self._drawn = self._drawn, None
        if message.item is not drawn:
            self._show_bytes(message.item)

    def _show_bytes(self, item: Item) -> None:
        self.bytes.show(*_bytes_of(item, self.bytes.buffer))
        self._titles(item)

    @on(HexPane.Picked)
    def _byte_picked(self, message: HexPane.Picked) -> None:
        if self._dissected is None:
            return
        item = self._dissected.item_at(message.buffer, message.offset)
        if item is not None:
            self.fields.choose(item)

    def _titles(self, item: Item) -> None:
        self.query_one("#tree-title", Static).update(text(_path(item)), layout=False)
        self.query_one("#hex-title", Static).update(text(self.bytes.title), layout=False)

    @on(ExchangeList.Opened)
    def _opened(self) -> None:
        self.fields.focus()

    # from outside

    def go_to(self, row: int, side: str = "", start: int = -1, end: int = -1, inside: str = "") -> None:
        """Select an exchange, and a field of it, or a piece `inside` that field."""
        self._wanted = (row, side, start, end, inside) if side else None
        position = self.rows.shown.position_of(row)
        if position is None:
            self.post_message(Notice(f"exchange {row + 1} is not there (yet)", "warning"))
            return
        self.rows.follows = False
        self.rows.go_to(position)
        self._look_at_wanted()

    def _look_at_wanted(self) -> None:
        wanted, dissected = self._wanted, self._dissected
        if wanted is None or dissected is None or dissected.row != wanted[0]:
            return
        self._wanted = None
        _, side, start, end, inside = wanted
        root = dissected.root(side)
        if root is None or root.buffer is None:
            return
        item = dissected.item_at(root.buffer, max(start, 0)) if start >= 0 else root
        while item is not None and item.parent is not None and end > item.end:
            item = item.parent
        piece = None if item is None or not inside else inner_item(item, inside)
        if piece is not None:
            self.fields.choose(piece)
            self.fields.focus()
        elif item is not None:
            self.fields.choose(item)
            if start >= 0:
                self.bytes.show(root.buffer, start, max(end, start + 1))
            self.fields.focus()

    # keys

    def action_next_pane(self, step: int = 1) -> None:
        """List, fields, bytes, and again."""
        panes = [self.rows, self.fields, self.bytes]
        now = next((index for index, pane in enumerate(panes) if pane.has_focus), -step)
        panes[(now + step) % len(panes)].focus()

    def action_other_side(self) -> None:
        """Switch between the request and the response."""
        if self._dissected is None:
            return
        item = self.fields.item
        side = "response" if item is None or item.side != "response" else "request"
        root = self._dissected.root(side)
        if root is None:
            self.post_message(Notice(f"there is no {side}"))
            return
        self.fields.choose(root)

    def action_next(self, what: str, step: int) -> None:
        """Go to the next row that has an error, a finding or a mark."""
        flags: bytearray = getattr(self.session.log, what)
        position = self._next_position(flags, step)
        if position is None:
            where = "below" if step > 0 else "above"
            more = " yet" if self.session.is_loading or self.session.is_judging else ""
            self.post_message(Notice(f"no {_NAMES[what]} {where}{more}"))
            return
        self.rows.follows = False
        self.rows.go_to(position)

    def _next_position(self, flags: bytearray, step: int) -> int | None:
        shown = self.rows.shown
        if isinstance(shown, Ordered):
            return next_flagged(flags, shown, self.rows.cursor, step)
        found = find_in(flags, self.rows.row if self.rows.row is not None else -1, step, shown.rows)
        return None if found is None else shown.position_of(found)

    def action_mark(self) -> None:
        """Mark the exchange, or take the mark away."""
        row = self.rows.row
        if row is not None:
            marked = self.session.log.marked
            marked[row] = not marked[row]
            self.rows.refresh()

    def action_go_to(self) -> None:
        """Ask for a number or a time."""
        self.app.push_screen(GoToScreen(self.session), self._go_to_row)

    def _go_to_row(self, row: int | None) -> None:
        if row is not None:
            shown = self.rows.shown
            self.rows.follows = False
            self.rows.go_to(shown.near(row))
            self.rows.focus()

    def action_filter_cell(self, negation: str) -> None:
        """Show only exchanges with the value of the chosen column, or exclude them."""
        column, row = self.rows.chosen_column, self.rows.row
        if column is None or row is None or column.value is None:
            self.post_message(
                Notice("this column cannot be filtered by: choose a column with left and right")
            )
            return
        value = column.value(self.session.log, row)
        if value is None:
            self.post_message(Notice(f"there is nothing in the column {column.title}"))
            return
        self.post_message(UseFilter(quick_filter(column.field, value, bool(negation)), extend=True))

    def action_clear_filter(self) -> None:
        """Show all exchanges again."""
        self.post_message(UseFilter(""))

    def action_follow_connection(self) -> None:
        """Show only the exchanges of this connection."""
        row = self.rows.row
        if row is not None:
            self.post_message(Follow(self.session.log.connection(row).id))

    def action_follow(self) -> None:
        """Stay with the latest exchange, or no more."""
        self.rows.follows = not self.rows.follows
        if self.rows.follows and self.rows.order is not None:
            self.rows.sort_by(None)  # new rows are last in the order of completion alone
        self.rows.grown()
        self.post_message(Notice("following new exchanges" if self.rows.follows else "no longer following"))

    def action_freeze(self) -> None:
        """Freeze the list, or let it go on."""
        shown = self.session.shown
        shown.frozen_at = len(self.session.log) if shown.frozen_at is None else None
        self.rows.grown()
        self.session.changed(Change.SHOWN, "")

    def action_columns(self) -> None:
        """Choose the columns of the list. The choice is stored for the next run."""
        rows = self.rows
        self.app.push_screen(ColumnScreen(rows.column_names, rows.columns_on_screen), self._use_columns)

    def _use_columns(self, names: tuple[str, ...] | None) -> None:
        if names is not None:
            self.view_app.state.columns = names
            self.rows.choose_columns(names)

    def action_zoom(self) -> None:
        """Give the whole space to one pane, or share it again."""
        if self.has_class("-zoomed"):
            self.remove_class("-zoomed", "-zoom-list", "-zoom-tree", "-zoom-hex")
            return
        name = "hex" if self.bytes.has_focus else "tree" if self.fields.has_focus else "list"
        self.add_class("-zoomed", f"-zoom-{name}")


_NAMES = {"troubled": "error", "found": "finding", "marked": "mark"}


def _bytes_of(item: Item, shown: Buffer | None) -> tuple[Any, int, int]:
    """Return the buffer of a line and its span. A line without a buffer shows the one around it."""
    if item.buffer is None:
        return (shown, 0, 0) if not item.side else (None, 0, 0)
    return item.buffer, item.start, item.end


def _path(item: Item) -> str:
    names: list[str] = []
    at: Item | None = item
    while at is not None:
        if at.kind != "group":
            names.insert(0, at.label)
        at = at.parent
    return ".".join(names).replace(".[", "[")


def quick_filter(field: str, value: str, negated: bool) -> str:
    """Return the filter that takes exchanges with a value, or without it."""
    if field == "has finding":
        return f"{'not ' if negated else ''}has finding {value}"
    if field in ("topics", "errors"):
        return f"{'not ' if negated else ''}{field} == {value}"
    return f"{field} {'!=' if negated else '=='} {value}"
