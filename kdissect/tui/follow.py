"""Follow stream: one connection's conversation from its first byte to its last."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Footer, Static
from textual.worker import get_current_worker

from kdissect.model.wording import plural
from kdissect.tui.hand_over import hand_over
from kdissect.tui.inert import text
from kdissect.tui.session import Session
from kdissect.tui.stream import FORMS, Turnout, message_lines, messages_of
from kdissect.tui.view import Follow, GoTo
from kdissect.tui.widgets.lines import Line, Lines

# Messages decoded at a time: some screens full, done in a fraction of a second.
MESSAGES_AT_ONCE = 50


class FollowScreen(ModalScreen[None]):
    """Requests and responses in the order in which they went, a page after the other as one scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back"),
        Binding("f", "form", "Fields/hex/titles"),
        Binding("n", "message(1)", "Next message"),
        Binding("N", "message(-1)", "Message before", show=False),
        Binding("enter", "exchange", "Its exchange"),
        Binding("c", "exchanges", "All in the list"),
    ]
    DEFAULT_CSS = """
    FollowScreen { background: $surface; }
    FollowScreen #follow-title {
        height: 1; background: $primary; color: $text; text-style: bold; padding: 0 1;
    }
    """

    def __init__(self, session: Session, connection: str, row: int | None = None) -> None:
        super().__init__()
        self._row = row
        self._session = session
        self._connection = connection
        self._form = FORMS[0]
        self._messages = messages_of(session.log, connection)
        self._told = 0
        self._starts: list[int] = []
        self._is_telling = False

    def compose(self) -> ComposeResult:
        """Title, lines, keys."""
        yield Static(id="follow-title")
        yield Lines(id="follow")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Tell the first messages."""
        self._lines.focus()
        self._again()

    @property
    def _lines(self) -> Lines:
        return self.query_one(Lines)

    def _again(self) -> None:
        """From the first message, in the form that is chosen."""
        self._told = 0
        self._starts = []
        self._lines.show([])
        self._title()
        self._more()

    def _title(self) -> None:
        log = self._session.log
        number = log.connection_number(self._connection)
        info = None if number is None else log.connections[number]
        ends = "" if info is None else f"{info.client_text} > {info.broker_text}"
        who = "" if info is None or not info.client_id else f"  {info.client_id}"
        told = (
            f"Follow {ends}{who}  {self._told} of {plural(len(self._messages), 'message')}, as {self._form}"
        )
        self.query_one("#follow-title", Static).update(text(told))

    @on(Lines.NearEnd)
    def _near_end(self, event: Lines.NearEnd) -> None:
        event.stop()
        self._more()

    def _more(self) -> None:
        if self._is_telling or self._told >= len(self._messages):
            return
        self._is_telling = True
        part = self._messages[self._told : self._told + MESSAGES_AT_ONCE]
        self._told += len(part)
        self._tell(part, self._form)

    @work(thread=True, group="follow", exclusive=True)
    def _tell(self, part: list[Turnout], form: str) -> None:
        """Decode in a thread: the screen stays quick on a slow disk."""
        log = self._session.log
        worker = get_current_worker()
        made: list[list[Line]] = []
        for message in part:
            if worker.is_cancelled:
                return
            made.append(list(message_lines(log, message, form)))
        hand_over(self, self._take, made)

    def _take(self, made: list[list[Line]]) -> None:
        self._is_telling = False
        at = len(self._lines)
        for lines in made:
            self._starts.append(at)
            at += len(lines)
        self._lines.extend(line for lines in made for line in lines)
        self._title()
        self._reach()

    def _reach(self) -> None:
        """Go on to the exchange that one came from, if one did."""
        row = self._row
        if row is None:
            return
        place = next((at for at, message in enumerate(self._messages) if message.row == row), 0)
        if place < len(self._starts):
            self._row = None
            self._lines.go_to(self._starts[place])
        else:
            self._more()

    def _current(self) -> int:
        """The message at the top of the screen."""
        from bisect import bisect_right

        return max(bisect_right(self._starts, self._lines.scroll_offset.y) - 1, 0)

    # keys

    def action_leave(self) -> None:
        """Back to where one came from."""
        self.dismiss()

    def action_form(self) -> None:
        """Fields, hex, or titles alone."""
        self._form = FORMS[(FORMS.index(self._form) + 1) % len(FORMS)]
        self._is_telling = False
        self._again()

    def action_message(self, step: int) -> None:
        """The next message at the top."""
        place = self._current() + step
        if 0 <= place < len(self._starts):
            self._lines.go_to(self._starts[place])
        if place >= len(self._starts) - 1:
            self._more()

    def action_exchange(self) -> None:
        """The exchange of the message at the top, in the list."""
        place = self._current()
        if place < len(self._messages):
            message = self._messages[place]
            self.dismiss()
            self.app.post_message(GoTo(message.row, message.side))

    def action_exchanges(self) -> None:
        """All of them, in the list."""
        self.dismiss()
        self.app.post_message(Follow(self._connection))
