"""Copies an exchange, or the field that is chosen, in the form that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kdissect.engine.exchange_log.log import LoggedExchange
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.wording import plural
from kdissect.session.exchange import Exchange
from kdissect.tui.screens import copy_forms as copies
from kdissect.tui.screens.copy_forms import Names, NothingToCopyError
from kdissect.tui.session import Session
from kdissect.tui.view import Field, Notice
from kdissect.tui.widgets.hand_over import hand_over
from kdissect.tui.widgets.safe_text import text

# Terminals take some 100 kB to a few MB by their clipboard sequence (OSC 52); beyond it nothing arrives.
_MOST_CHARACTERS = 1_000_000


class Choice(NamedTuple):
    """What can be copied: how it is called, and what gives it. May raise NothingToCopyError."""

    title: str
    make: Callable[[], str]


class CopyScreen(ModalScreen[None]):
    """A list of forms. `row` of the log; `field` only where one is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,y", "leave", "Back")]
    DEFAULT_CSS = """
    CopyScreen { align: center middle; }
    CopyScreen #copy-box { width: 64; max-width: 95%; height: auto; border: round $primary; padding: 0 1; }
    CopyScreen OptionList, CopyScreen OptionList:focus {
        height: auto; max-height: 14; border: none; padding: 0;
    }
    CopyScreen Static { height: auto; }
    """

    def __init__(self, session: Session, row: int, field: Field | None = None) -> None:
        super().__init__()
        self._choices = choices(session, row, field)
        self._row = row

    def compose(self) -> ComposeResult:
        """The forms."""
        with Vertical(id="copy-box"):
            yield Static(f"Copy of exchange {self._row + 1}. Secrets are blanked.", markup=False)
            yield OptionList(*(Option(text(choice.title)) for choice in self._choices))

    def on_mount(self) -> None:
        """Choose."""
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._copy(self._choices[event.option_index])

    @work(thread=True)
    def _copy(self, choice: Choice) -> None:
        """Read and write in a thread: the bytes may have to be looked for in a large file."""
        try:
            copied = choice.make()
        except NothingToCopyError as error:
            hand_over(self, self._done, "", Notice(f"nothing was copied: {error}", "warning"))
            return
        notice = Notice(f"copied {plural(len(copied), 'character')}: {choice.title}")
        if len(copied) > _MOST_CHARACTERS:
            size = plural(len(copied), "character is", "characters are")
            too_long = f"{size} more than a terminal takes: save the exchange"
            notice = Notice(too_long, "warning")
            copied = ""
        hand_over(self, self._done, copied, notice)

    def _done(self, copied: str, notice: Notice) -> None:
        if copied:
            self.app.copy_to_clipboard(copied)
        self.app.post_message(notice)
        self.dismiss(None)

    def action_leave(self) -> None:
        """Back."""
        self.dismiss(None)


def choices(session: Session, row: int, field: Field | None) -> list[Choice]:
    """What can be copied of an exchange."""
    log = session.log
    found: list[Choice] = []
    if field is not None and field.data:
        found += [
            Choice(f"{form} of the field {field.name}", _form_of(make, field.data))
            for form, make in copies.FORMS.items()
        ]
    found.append(Choice("JSON of the exchange", lambda: _json(session, row)))
    for side in copies.SIDES:
        if log.has_side(row, side):
            found += _of_side(log.exchange(row), side)
    return found


def _of_side(exchange: Exchange, side: str) -> list[Choice]:
    forms = [
        Choice(f"{form} of the {side}", lambda make=make: make(copies.frame_bytes(exchange, side)))  # type: ignore[misc]
        for form, make in copies.FORMS.items()
    ]
    return [Choice(f"kdissect decode of the {side}", lambda: copies.decode_command(exchange, side)), *forms]


def _form_of(make: copies.Form, data: bytes) -> Callable[[], str]:
    return lambda: make(data)


def _json(session: Session, row: int) -> str:
    log = session.log

    def topic_name(records: RecordSet) -> str | None:
        return log.topic_names.get(records.records_field.topic_id or b"")

    def topics_of(exchange: Exchange, _asked: object, _answered: object) -> tuple[str, ...]:
        return exchange.topics() if isinstance(exchange, LoggedExchange) else ()

    names = Names(session.progress.file_names, topics_of, topic_name)
    return copies.json_line(log.exchange(row), row + 1, names)
