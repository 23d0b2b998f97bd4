"""Asks for the path of a file, and saves exchanges while the screen goes on.

`_save_rows` and `run_saver` block: not for the thread that answers keys.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kdissect.capture.formats.packet_file import PacketFile
from kdissect.excerpt.frames_file import frame_packets
from kdissect.model.wording import plural
from kdissect.session.exchange import Exchange
from kdissect.tui.processes.worker_messages import Order, Saved, SaveOrder, receive, send
from kdissect.tui.session import Session
from kdissect.tui.view import Notice
from kdissect.tui.widgets.hand_over import hand_over
from kdissect.tui.widgets.safe_text import text

MOST = 200_000  # exchanges in one file; `kdissect extract` saves more


class SaveScreen(ModalScreen[None]):
    """One line for a path. It saves the `rows` of the log. `what` describes the rows.

    Without rows, the packets of `connections` are saved.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]
    DEFAULT_CSS = """
    SaveScreen { align: center middle; }
    SaveScreen #save-box { width: 72; max-width: 95%; height: auto; border: round $primary; padding: 0 1; }
    SaveScreen #save-trouble { color: $text-error; height: auto; }
    SaveScreen Static { height: auto; }
    """

    def __init__(
        self, session: Session, rows: Sequence[int], what: str, connections: frozenset[str] = frozenset()
    ) -> None:
        super().__init__()
        self._connections = connections
        self._session = session
        self._rows = rows
        self._what = what
        self._agreed = ""

    def compose(self) -> ComposeResult:
        """Show the rows to save, and ask for the path."""
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
        """Return the reason not to write there, or an empty text."""
        if not path or len(self._rows) > MOST:
            return "a path is needed" if not path else "there are too many"
        if any(info.logged is not None for info in self._session.log.connections):
            return "a request log has no packets"
        target = Path(path).expanduser()
        if any(_is_same(target, one) for one in self._session.progress.file_names):
            return "that is one of the captures that are open"
        if target.is_dir() or not target.parent.is_dir():
            return "that is a directory" if target.is_dir() else "there is no such directory"
        if target.exists() and self._agreed != path:
            self._agreed = path
            return "there is such a file: Enter once more replaces it"
        return ""

    def _say(self, what: str) -> None:
        self.query_one("#save-trouble", Static).update(text(what))

    @work(thread=True)
    def _save(self, path: str) -> None:
        target = str(Path(path).expanduser())
        if self._rows:
            saved = _save_rows(self._session, self._rows, target)
        else:
            saved = run_saver(SaveOrder(_inputs(self._session), frozenset(), target, self._connections))
        if saved.written:
            count = plural(saved.written, "exchange" if self._rows else "connection")
            saved_text = f"saved {count} to {saved.path}"
            message = Notice(f"{saved_text}; {saved.trouble}" if saved.trouble else saved_text)
        else:
            message = Notice(f"cannot save to {saved.path}: {saved.trouble}", "error")
        self.app.post_message(message)
        hand_over(self, self.dismiss, None)

    def action_leave(self) -> None:
        """Go back. A save in progress goes on."""
        self.dismiss(None)


def _proposal(session: Session) -> str:
    """Propose a file name in the current directory, not in that of a capture."""
    names = session.progress.file_names
    stem = Path(names[0]).name.partition(".")[0] if names and names[0] != "-" else "capture"
    return f"{''.join(letter if letter.isprintable() else '_' for letter in stem)}-excerpt.pcapng"


def _is_same(target: Path, name: str) -> bool:
    try:
        return target.exists() and target.samefile(name)
    except OSError:
        return False


_STREAM_COMMENT = (
    "{} of a stream. The packets are new: IP and TCP as they may have been. Frames and times come from "
    "the capture."
)


def _save_rows(session: Session, rows: Sequence[int], path: str) -> Saved:
    """Write rows of the log: their packets, or new packets for streams. Raises no exception."""
    log = session.log
    if session.is_stream:
        return _save_frames([log.exchange(row) for row in rows], path)
    places = frozenset((log.connection(row).id, log.columns["ordinal"][row]) for row in rows)
    return run_saver(SaveOrder(_inputs(session), places, path))


def _inputs(session: Session) -> Order:
    return session.order._replace(spool=-1, stdin=-1)


def _save_frames(exchanges: list[Exchange], path: str) -> Saved:
    written: set[tuple[str, int]] = set()
    try:
        comment = _STREAM_COMMENT.format(plural(len(exchanges), "exchange"))
        with PacketFile(path, comment) as file:
            for packet, exchange, side in frame_packets(exchanges):
                written.add((exchange.connection.id, exchange.ordinal))
                file.write(packet, f"{exchange.connection.id}/{exchange.ordinal} {side}")
    except OSError as error:
        return Saved(0, path, error.strerror or str(error))
    lost = len(exchanges) - len(written)
    return Saved(len(written), path, f"the bytes of {lost} are no longer stored" if lost else "")


def run_saver(order: SaveOrder) -> Saved:
    """Write exchanges to a file. Blocks: not for the thread that answers keys. Raises nothing."""
    order_out, orders = os.pipe()
    results, results_in = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "kdissect.tui.processes.saver", str(order_out), str(results_in)],
            pass_fds=(order_out, results_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        os.close(order_out)
        os.close(results_in)
        os.close(orders)
        os.close(results)
        return Saved(0, order.path, error.strerror or str(error))
    os.close(order_out)
    os.close(results_in)
    try:
        send(orders, order)
        saved: Saved = receive(results)
    except (EOFError, OSError):
        return Saved(0, order.path, f"writing ended with {process.wait()}")
    finally:
        os.close(orders)
        os.close(results)
    process.wait()
    return saved
