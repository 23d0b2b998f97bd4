"""Asks for a target: a number of the list, or a time."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kdissect.model.wording import plural
from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.points_in_time import Moment, Time
from kdissect.tui.session import Session

_TIME = Time(1, "ns")


class GoToScreen(ModalScreen[int | None]):
    """Screen that returns a row of the log, or None if the user leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        """Make one line."""
        with Vertical(id="go-to-box"):
            yield Static(
                "Go to: 1234 (number), +2.5s (since the first packet), 2026-11-21T10:00:00Z", markup=False
            )
            yield Input(id="go-to", compact=True)
            yield Static("", id="go-to-error", markup=False)

    def on_mount(self) -> None:
        """Send typed keys to the input."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go there, if that is a place."""
        event.stop()
        try:
            self.dismiss(row_named(self._session, event.value.strip()))
        except ValueError as error:
            self.query_one("#go-to-error", Static).update(str(error)[:100])

    def action_leave(self) -> None:
        """Stay."""
        self.dismiss(None)


def row_named(session: Session, name: str) -> int | None:
    """Return the row that a number or a time means. Raises ValueError."""
    log = session.log
    if not len(log):
        return None
    if name.isdigit() and len(name) < 10:
        number = int(name)
        if not 1 <= number <= len(log):
            raise ValueError(f"the list has {plural(len(log), 'exchange')}")
        return number - 1
    moment: Moment = _TIME.parse(Literal(name, False, 0, len(name)))
    return log.row_at(moment.absolute(log.start_ns))
