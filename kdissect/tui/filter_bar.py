"""The filter: typed with completion, its history, and what is wrong with it, in place."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from kdissect.query import FilterError
from kdissect.query.complete import Candidate, Completion, complete
from kdissect.tui.session import Session
from kdissect.tui.view import UseFilter, ViewApp
from kdissect.tui.widgets.safe_text import fitted, safe

# Candidates shown. A user who wants another one types on.
_MOST_CANDIDATES = 200
_HISTORY = 200
_EXAMPLE = "/ to filter, such as: api == Produce and latency > 50ms"
_CANDIDATE_WIDTH = 70


class FilterInput(Input):
    """The line itself."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete", show=True, priority=True),
        Binding("down", "next", "Next candidate, later filter", show=False),
        Binding("up", "previous", "Previous candidate, earlier filter", show=False),
        Binding("escape", "leave", "Back", show=True),
        Binding("ctrl+u", "clear", "Clear", show=False),
    ]

    class Move(Message):
        """Another candidate or history entry; -1: the one before."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    class Complete(Message):
        """Take the candidate."""

    class Leave(Message):
        """Done, nothing changed."""

    def action_complete(self) -> None:
        """Take the candidate."""
        self.post_message(self.Complete())

    def action_next(self) -> None:
        """Select the next candidate."""
        self.post_message(self.Move(1))

    def action_previous(self) -> None:
        """Select the previous candidate."""
        self.post_message(self.Move(-1))

    def action_leave(self) -> None:
        """Go back to the view."""
        self.post_message(self.Leave())

    def action_clear(self) -> None:
        """Empty the line."""
        self.value = ""


class FilterBar(Vertical):
    """The line of the filter, with candidates and errors. Its owner may fill `history`, latest last."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.history: list[str] = []
        self._at = 0
        self._draft = ""
        self._completion = Completion(0, 0, ())
        self._is_browsing = False
        self._count = Text()

    def compose(self) -> ComposeResult:
        """Make the line with its count, and the candidates and the trouble below it."""
        with Horizontal(id="filter-line"):
            yield Static("Filter", id="filter-label")
            yield FilterInput(placeholder=_EXAMPLE, compact=True, id="filter", select_on_focus=False)
            yield Static(id="filter-count")
        yield Static(id="filter-error")
        yield OptionList(id="candidates", compact=True)

    # from outside

    def start(self) -> None:
        """Type a filter."""
        line = self.query_one(FilterInput)
        line.focus()
        line.cursor_position = len(line.value)

    def accepted(self, expression: str) -> None:
        """Show the filter that is now applied."""
        line = self.query_one(FilterInput)
        line.value = expression
        self._say("")
        self._close_candidates()
        if expression:
            if expression in self.history:
                self.history.remove(expression)
            self.history = [*self.history, expression][-_HISTORY:]
        self._at = len(self.history)
        self.set_class(bool(expression), "-filtering")
        self.show_count()
        if line.has_focus:
            self._leave()

    def show_error(self, expression: str, error: FilterError) -> None:
        """Show the error and its position."""
        line = self.query_one(FilterInput)
        if line.value != expression:
            line.value = expression
        self._close_candidates()
        line.cursor_position = min(error.start, len(expression))
        lead = self._lead() + min(error.start, 60)
        self._say(f"{' ' * lead}{'^' * min(error.end - error.start, 40)} {safe(str(error))}")
        line.focus()

    def show_count(self) -> None:
        """Show the number of exchanges that the filter takes."""
        session = self._session
        shown = session.shown
        text = Text(no_wrap=True, end="")
        if shown.frozen_at is not None:
            text.append(" FROZEN ", "reverse")
        if shown.predicate is not None:
            busy = shown.is_searching or (not shown.needs_worker and shown.looked_at < len(session.log))
            text.append(f" {len(shown):,} of {len(session.log):,}{' …' if busy else ''} ")
        if text != self._count:
            self.query_one("#filter-count", Static).update(text, layout=text.cell_len != self._count.cell_len)
            self._count = text

    # typing

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        line = self.query_one(FilterInput)
        if not line.has_focus:
            return
        self._say("")
        self._offer(event.value, line.cursor_position)

    def _offer(self, value: str, cursor: int) -> None:
        self._completion = complete(value, cursor)
        word = value[self._completion.start : cursor]
        options = self.query_one(OptionList)
        options.clear_options()
        candidates = self._completion.candidates[:_MOST_CANDIDATES]
        if not value or not candidates or (len(candidates) == 1 and candidates[0].text == word):
            self._close_candidates()
            return
        width = max(len(candidate.text) for candidate in candidates)
        options.add_options([Option(_option(candidate, min(width, 40))) for candidate in candidates])
        options.highlighted = 0
        self._is_browsing = False
        self.add_class("-completing")
        lead = self._lead() + min(self._completion.start, max(self.size.width - 60, 0))
        options.styles.offset = (lead, 0)

    @on(FilterInput.Complete)
    def _complete(self) -> None:
        line = self.query_one(FilterInput)
        if not self.has_class("-completing"):
            self._offer(line.value, line.cursor_position)
            return
        self._take(self.query_one(OptionList).highlighted or 0)

    def _take(self, index: int) -> None:
        if index >= len(self._completion.candidates):
            return
        candidate = self._completion.candidates[index]
        line = self.query_one(FilterInput)
        space = "" if candidate.text.endswith("(") else " "
        behind = line.value[self._completion.end :]
        head = line.value[: self._completion.start] + candidate.text + space
        line.value = head + behind.lstrip()
        line.cursor_position = len(head)
        line.focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._take(event.option_index)

    @on(FilterInput.Move)
    def _move(self, message: FilterInput.Move) -> None:
        if self.has_class("-completing"):
            options = self.query_one(OptionList)
            self._is_browsing = True
            if message.step > 0:
                options.action_cursor_down()
            else:
                options.action_cursor_up()
            return
        self._recall(message.step)

    def _recall(self, step: int) -> None:
        line = self.query_one(FilterInput)
        if self._at == len(self.history):
            self._draft = line.value
        self._at = max(0, min(self._at + step, len(self.history)))
        with line.prevent(Input.Changed):
            line.value = self.history[self._at] if self._at < len(self.history) else self._draft
        line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._is_browsing and self.has_class("-completing"):
            self._take(self.query_one(OptionList).highlighted or 0)
            return
        self.post_message(UseFilter(event.value))

    @on(FilterInput.Leave)
    def _left(self) -> None:
        if self.has_class("-completing"):
            self._close_candidates()
            return
        self.query_one(FilterInput).value = self._session.filter_text
        self._say("")
        self._leave()

    # the rest

    def _leave(self) -> None:
        app = self.app
        view = app.view if isinstance(app, ViewApp) else None
        if view is not None and view.first_focus:
            view.query_one(view.first_focus).focus()

    def _lead(self) -> int:
        return self.query_one("#filter-label", Static).outer_size.width

    def _close_candidates(self) -> None:
        self._is_browsing = False
        self.remove_class("-completing")

    def _say(self, error: str) -> None:
        self.set_class(bool(error), "-wrong")
        self.query_one("#filter-error", Static).update(Text(error, no_wrap=True, end=""))


def _option(candidate: Candidate, width: int) -> Text:
    name = fitted(candidate.text, width)
    rest = fitted(f"  {candidate.help or candidate.kind}", max(_CANDIDATE_WIDTH - width, 0))
    return Text.assemble((name, "bold"), (rest, "dim"), no_wrap=True, end="")
