"""Asks where to save exchanges, and saves them while the screen goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kdissect.model.wording import plural
from kdissect.tui.hand_over import hand_over
from kdissect.tui.inert import text
from kdissect.tui.save import save_rows
from kdissect.tui.session import Session
from kdissect.tui.view import Tell

MOST = 200_000  # exchanges in one file: more is what `kdissect extract` is for


class SaveScreen(ModalScreen[None]):
    """One line for a path. `rows` of the log are saved, `what` says which those are."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]
    DEFAULT_CSS = """
    SaveScreen { align: center middle; }
    SaveScreen #save-box { width: 72; max-width: 95%; height: auto; border: round $primary; padding: 0 1; }
    SaveScreen #save-trouble { color: $text-error; height: auto; }
    SaveScreen Static { height: auto; }
    """

    def __init__(self, session: Session, rows: Sequence[int], what: str) -> None:
        super().__init__()
        self._session = session
        self._rows = rows
        self._what = what
        self._agreed = ""

    def compose(self) -> ComposeResult:
        """What, where."""
        with Vertical(id="save-box"):
            yield Static(f"Save {self._what} as pcapng. Enter saves, Esc goes back.", markup=False)
            yield Input(_proposal(self._session), compact=True, id="save-path")
            yield Static("", id="save-trouble", markup=False)

    def on_mount(self) -> None:
        """Type."""
        self.query_one(Input).focus()
        if len(self._rows) > MOST:
            self._say(f"these are more than {MOST}: kdissect extract -Y '...' saves any number")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        path = event.value.strip()
        trouble = self._trouble(path)
        if trouble:
            self._say(trouble)
            return
        self.query_one(Input).disabled = True
        self._say("saving ...")
        self._save(path)

    def _trouble(self, path: str) -> str:
        """Why not to write there; empty: nothing against it."""
        if not path or len(self._rows) > MOST:
            return "a path is needed" if not path else "there are too many"
        place = Path(path).expanduser()
        if any(_is_same(place, one) for one in self._session.progress.file_names):
            return "that is one of the captures that are open"
        if place.is_dir() or not place.parent.is_dir():
            return "that is a directory" if place.is_dir() else "there is no such directory"
        if place.exists() and self._agreed != path:
            self._agreed = path
            return "there is such a file: Enter once more replaces it"
        return ""

    def _say(self, what: str) -> None:
        self.query_one("#save-trouble", Static).update(text(what))

    @work(thread=True)
    def _save(self, path: str) -> None:
        saved = save_rows(self._session, self._rows, str(Path(path).expanduser()))
        if saved.exchanges:
            count = plural(saved.exchanges, "exchange")
            told = f"saved {count} to {saved.path}"
            message = Tell(f"{told}; {saved.trouble}" if saved.trouble else told)
        else:
            message = Tell(f"nothing was saved to {saved.path}: {saved.trouble}", "error")
        self.app.post_message(message)
        hand_over(self, self.dismiss, None)

    def action_leave(self) -> None:
        """Back; what is being saved goes on."""
        self.dismiss(None)


def _proposal(session: Session) -> str:
    """A name beside none of the captures: in the directory one is in."""
    names = session.progress.file_names
    stem = Path(names[0]).name.partition(".")[0] if names and names[0] != "-" else "capture"
    return f"{''.join(letter if letter.isprintable() else '_' for letter in stem)}-excerpt.pcapng"


def _is_same(place: Path, name: str) -> bool:
    try:
        return place.exists() and place.samefile(name)
    except OSError:
        return False
