"""Follow stream: one connection's conversation from its first byte to its last."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.worker import get_current_worker

from kdissect.decoders.trees.tree_text import render
from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.engine.exchange_trees import whole_tree
from kdissect.engine.secrets.patches import patched
from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.engine.times import rfc3339
from kdissect.model.wording import plural
from kdissect.report.cells import Cell
from kdissect.report.quantities import duration
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.tui.session import Session
from kdissect.tui.view import Follow, GoTo
from kdissect.tui.widgets.hand_over import hand_over
from kdissect.tui.widgets.hex_rows import hex_rows
from kdissect.tui.widgets.key_footer import KeyFooter
from kdissect.tui.widgets.safe_text import text
from kdissect.tui.widgets.styled_lines import Line, Lines

# Lines of one message. To see all of it, go to the exchange.
_MESSAGE_LINES = 40
_HEX_BYTES = 512
FORMS = ("fields", "hex", "titles")
# Messages decoded at a time: some screens full, done in a fraction of a second.
_MESSAGES_AT_ONCE = 50


# A connection's whole conversation as lines: requests and responses in the order in which they went.
class StreamMessage(NamedTuple):
    """One message: the exchange it belongs to, and which side of it."""

    row: int
    side: str


def messages_of(log: ExchangeLog, connection: str) -> list[StreamMessage]:
    """Return a connection's messages by the time of their first byte, requests before their responses."""
    found = []
    for row in log.rows_of(connection):
        for order, side in enumerate(("request", "response")):
            if log.has_side(row, side):
                found.append((log.columns[f"{side}_time"][row], order, row, side))
    return [StreamMessage(row, side) for _, _, row, side in sorted(found, key=lambda each: each[:3])]


def message_lines(log: ExchangeLog, message: StreamMessage, form: str) -> Iterator[Line]:
    """Yield a heading, then the content in one of `FORMS`. Raises no exception."""
    yield _title(log, message)
    if form != "titles":
        yield from _content(log, message, form)
        yield ()


def _title(log: ExchangeLog, message: StreamMessage) -> Line:
    row, side = message
    is_request = side == "request"
    arrow = "client >>>" if is_request else "<<< broker"
    size = log.bytes_on_wire(row, side)
    time = rfc3339(log.columns[f"{side}_time"][row])[11:26]
    latency = log.latency_ns(row)
    behind = ""
    if not is_request and latency is not None:
        behind = f"  after {duration(latency)}"
    length = "" if size is None else f"  {plural(size, 'byte')}"
    outcome = Cell("") if is_request else _errors(log, row)
    return (
        (f"{arrow}  ", side),
        (f"#{row + 1}  {time}  ", "dim"),
        (f"{_api(log, row)} {side}{length}{behind}", "bold"),
        (f"  {outcome.text}" if outcome.text else "", outcome.style),
    )


def _api(log: ExchangeLog, row: int) -> str:
    key = log.api_key(row)
    if key is None:
        return "SASL token" if log.is_token(row) else "unknown"
    return f"{api_name(key) or f'key {key}'} v{log.api_version(row)}"


def _errors(log: ExchangeLog, row: int) -> Cell:
    errors = log.errors(row)
    return Cell(", ".join(str(error_name(code)) for code in errors), "bad") if errors else Cell("")


def _content(log: ExchangeLog, message: StreamMessage, form: str) -> Iterator[Line]:
    exchange = log.exchange(message.row)
    frame = exchange.request if message.side == "request" else exchange.response
    if frame is None or not frame.data:
        yield (("    its bytes are no longer available", "bad"),)
        return
    if form == "hex":
        data = patched(frame.data, secret_patches(exchange, message.side), 0, _HEX_BYTES)
        for line in hex_rows(data, 0, len(data)):
            yield (("    ", ""), *line)
        if len(frame.data) > _HEX_BYTES:
            yield ((f"    ... {plural(len(frame.data) - _HEX_BYTES, 'more byte')}", "dim"),)
        return
    tree = whole_tree(exchange, message.side, frame, lambda _info, number: log.topic_names.get(number))
    if tree is None:
        yield (("    the request is not known, so this cannot be decoded", "odd"),)
        return
    name_of = log.topic_names.get
    yield from _bounded(list(_tree_lines(render(tree, frame.data, topic_name=name_of))))


def _tree_lines(lines: Iterator[str]) -> Iterator[Line]:
    for line in lines:
        style = "bad" if line.lstrip().startswith("! ") else ""
        yield ((f"    {line}", style),)


def _bounded(lines: Sequence[Line]) -> Sequence[Line]:
    if len(lines) <= _MESSAGE_LINES:
        return lines
    left_out = len(lines) - _MESSAGE_LINES
    return [*lines[:_MESSAGE_LINES], ((f"    ... {plural(left_out, 'more line')}", "dim"),)]


class FollowScreen(ModalScreen[None]):
    """Requests and responses in the order in which they went, a page after the other as one scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back"),
        Binding("f", "form", "Fields/hex/titles"),
        Binding("n", "message(1)", "Next", tooltip="Next message"),
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
        self._session = session
        self._connection = connection
        self._form = FORMS[0]
        self._messages = messages_of(session.log, connection)
        rows = [message.row for message in self._messages]
        # The message to show at the top as soon as its lines exist.
        self._goal = rows.index(row) if row in rows else None
        self._chosen = self._goal or 0
        self._told = 0
        self._starts: list[int] = []
        self._is_telling = False

    def compose(self) -> ComposeResult:
        """Title, lines, keys."""
        yield Static(id="follow-title")
        yield Lines(id="follow")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Show the first messages."""
        self._lines.focus()
        self._again()

    @property
    def _lines(self) -> Lines:
        return self.query_one(Lines)

    def _again(self) -> None:
        """Start again from the first message, in the chosen form."""
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
        title = (
            f"Follow {ends}{who}  {self._told} of {plural(len(self._messages), 'message')}, as {self._form}"
        )
        self.query_one("#follow-title", Static).update(text(title))

    @on(Lines.NearEnd)
    def _near_end(self, event: Lines.NearEnd) -> None:
        event.stop()
        self._more()

    def _more(self) -> None:
        if self._is_telling or self._told >= len(self._messages):
            return
        self._is_telling = True
        part = self._messages[self._told : self._told + _MESSAGES_AT_ONCE]
        self._told += len(part)
        self._tell(part, self._form)

    @work(thread=True, group="follow", exclusive=True)
    def _tell(self, part: list[StreamMessage], form: str) -> None:
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
        """Go on to the message that one came from, if one did."""
        index = self._goal
        if index is None:
            return
        if index < len(self._starts):
            self._goal = None
            self._lines.go_to(self._starts[index])
        else:
            self._more()

    def _current(self) -> int:
        """Return the message at the top of the screen."""
        return max(bisect_right(self._starts, self._lines.scroll_offset.y) - 1, 0)

    def _kept(self) -> int:
        """Return the current message, or the chosen one if too few lines follow it to bring it to the top."""
        lines, current = self._lines, self._current()
        is_at_end = lines.scroll_offset.y >= lines.max_scroll_y
        return max(current, self._chosen) if is_at_end else current

    # keys

    def action_leave(self) -> None:
        """Go back to the former screen."""
        self.dismiss()

    def action_form(self) -> None:
        """Fields, hex, or titles alone."""
        self._form = FORMS[(FORMS.index(self._form) + 1) % len(FORMS)]
        if self._goal is None:
            self._goal = self._chosen = self._kept()
        self._is_telling = False
        self._again()

    def action_message(self, step: int) -> None:
        """Bring the next message to the top."""
        index = self._current() + step
        if 0 <= index < len(self._starts):
            self._chosen = index
            self._lines.go_to(self._starts[index])
        if index >= len(self._starts) - 1:
            self._more()

    def action_exchange(self) -> None:
        """Show the exchange of the top message in the list."""
        index = self._current()
        if index < len(self._messages):
            message = self._messages[index]
            self.dismiss()
            self.app.post_message(GoTo(message.row, message.side))

    def action_exchanges(self) -> None:
        """Show all exchanges of the connection in the list."""
        self.dismiss()
        self.app.post_message(Follow(self._connection))
