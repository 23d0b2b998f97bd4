"""Copies an exchange, or the chosen field, in the chosen form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import ClassVar, NamedTuple

import orjson
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kdissect.engine.exchange_log.log import LoggedExchange
from kdissect.engine.exchange_rows import TopicsOf
from kdissect.engine.listed_rows import ListedRows
from kdissect.engine.records.nested_records import nest_batches
from kdissect.engine.records.record_rows import TopicNames
from kdissect.engine.secrets.shown_bytes import wire_bytes
from kdissect.model.wording import plural
from kdissect.report.printable import terminal_json
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.tui.session import Session
from kdissect.tui.view import Field, Notice
from kdissect.tui.widgets.hand_over import hand_over
from kdissect.tui.widgets.safe_text import text

SIDES = ("request", "response")
# Beyond it a command takes its hex from a here-document: one argument of a command is at most 128 KiB long
# (MAX_ARG_STRLEN of Linux).
LONGEST_ARGUMENT = 100_000
_COLUMNS = 64  # bytes in a line of a here-document
# Terminals take some 100 kB to a few MB by their clipboard sequence (OSC 52). Longer texts do not arrive.
_MOST_CHARACTERS = 1_000_000


# Forms in which an exchange can be copied: JSON, hex, Python bytes, a command that decodes it again.
#
# Secrets are blanked, as they are masked on the screen.
class NothingToCopyError(Exception):
    """Absence of bytes to copy. The message is the reason, in one line."""


class Names(NamedTuple):
    """Names that rows need: `files` by index, the topics of an exchange, names of topic ids."""

    files: Sequence[str]
    topics_of: TopicsOf
    topic_name: TopicNames | None


def json_line(exchange: Exchange, number: int, names: Names, show_secrets: bool = False) -> str:
    """Return the line of `kdissect inspect --bodies --records --format jsonl`."""

    def nest(row: dict[str, object], inner: Exchange) -> list[object]:
        return list(nest_batches(row, inner, show_secrets, names.topic_name))

    rows = ListedRows(names.files, True, show_secrets, names.topics_of, nest)  # type: ignore[arg-type]
    row = rows.row(exchange)
    row["number"] = number
    return terminal_json(orjson.dumps(row, default=str)).decode()


def frame_bytes(exchange: Exchange, side: str, show_secrets: bool = False) -> bytes:
    """Return a frame as on the wire, its size first. Raises NothingToCopyError."""
    _check_frame(exchange, side)
    return wire_bytes(exchange, side, show_secrets)


def decode_command(exchange: Exchange, side: str, show_secrets: bool = False) -> str:
    """Return a command line for a shell that shows the frame as a tree. Raises NothingToCopyError."""
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        raise NothingToCopyError("a bare SASL token is no frame that `kdissect decode` takes")
    command = ["kdissect", "decode", "--records"]
    if side == "response":
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            raise NothingToCopyError("the request of this response is not known")
        command += ["--response", "--api", api_name(key) or str(key), "--api-version", str(version)]
    return _with_hex(command, frame_bytes(exchange, side, show_secrets))


def _with_hex(command: Sequence[str], data: bytes) -> str:
    line = " ".join(map(quote, command))
    if len(data) * 2 <= LONGEST_ARGUMENT:
        return f"{line} {data.hex()}"
    rows = [data[at : at + _COLUMNS].hex() for at in range(0, len(data), _COLUMNS)]
    return "\n".join((f"{line} - <<'HEX'", *rows, "HEX"))


def _check_frame(exchange: Exchange, side: str) -> None:
    frame = exchange.request if side == "request" else exchange.response
    if frame is None:
        raise NothingToCopyError(f"no {side} was captured")
    if not frame.data:
        raise NothingToCopyError(f"the bytes of the {side} are no longer available")


Form = Callable[[bytes], str]
FORMS: dict[str, Form] = {"hex": bytes.hex, "Python bytes": repr}


class Choice(NamedTuple):
    """A form to copy: its title, and the function that makes it. May raise NothingToCopyError."""

    title: str
    make: Callable[[], str]


class CopyScreen(ModalScreen[None]):
    """A list of forms. `row` of the log. `field` only if one is chosen."""

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
        """List the forms."""
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
            hand_over(self, self._done, "", Notice(f"the copy failed: {error}", "warning"))
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
        """Go back."""
        self.dismiss(None)


def choices(session: Session, row: int, field: Field | None) -> list[Choice]:
    """Return the forms of an exchange that can be copied."""
    log = session.log
    found: list[Choice] = []
    if field is not None and field.data:
        found += [
            Choice(f"{form} of the field {field.name}", _form_of(make, field.data))
            for form, make in FORMS.items()
        ]
    found.append(Choice("JSON of the exchange", lambda: _json(session, row)))
    for side in SIDES:
        if log.has_side(row, side):
            found += _of_side(log.exchange(row), side)
    return found


def _of_side(exchange: Exchange, side: str) -> list[Choice]:
    forms = [
        Choice(f"{form} of the {side}", lambda make=make: make(frame_bytes(exchange, side)))  # type: ignore[misc]
        for form, make in FORMS.items()
    ]
    return [Choice(f"kdissect decode of the {side}", lambda: decode_command(exchange, side)), *forms]


def _form_of(make: Form, data: bytes) -> Callable[[], str]:
    return lambda: make(data)


def _json(session: Session, row: int) -> str:
    log = session.log

    def topics_of(exchange: Exchange, _asked: object, _answered: object) -> tuple[str, ...]:
        return exchange.topics() if isinstance(exchange, LoggedExchange) else ()

    names = Names(session.progress.file_names, topics_of, log.topic_of_records)
    return json_line(log.exchange(row), row + 1, names)
