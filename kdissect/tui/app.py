"""The application: bars, views, keys that hold everywhere."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from kdissect.model.wording import plural
from kdissect.query import FilterError
from kdissect.tui.filter_bar import FilterBar
from kdissect.tui.screens.copy_screen import CopyScreen
from kdissect.tui.screens.follow import FollowScreen
from kdissect.tui.screens.help import HelpScreen
from kdissect.tui.screens.save_screen import SaveScreen
from kdissect.tui.session import Change, Session
from kdissect.tui.top_bars import TopLine, ViewBar
from kdissect.tui.user_state import State
from kdissect.tui.view import (
    Follow,
    GoTo,
    GoToConnection,
    Notice,
    Selected,
    UseFilter,
    View,
    ViewApp,
    new_view,
    uses_files,
)
from kdissect.tui.views import FIRST, VIEWS, Spec
from kdissect.tui.views.exchanges import ExchangesView
from kdissect.tui.widgets.hand_over import is_there
from kdissect.tui.widgets.key_footer import KeyFooter
from kdissect.tui.widgets.safe_text import text

# A slice of filtering between two keys: far below the 50 ms in which a key is to be answered.
_SLICE_S = 0.008
# Seconds after which a thread that decodes a body releases the interpreter for keys. A key takes some twenty
# rounds of the event loop. Each round releases the interpreter and waits for it again: with Python's own 5
# ms, or even with 1, the key waits for all of the decoding.
_SWITCH_S = 0.0002
# Screen updates for what workers send, a second.
_UPDATES = 10
# Seconds between two tests whether to collect garbage.
_GARBAGE_S = 1.0
# Seconds without a key after which the user is idle.
IDLE_S = 2.0
# Collections of the middle generation, at most 7000 new objects each. WORTH_IT of them are worth a full
# collection when the user is idle. After MUST of them (half a million objects, about 100 MB) the full
# collection does not wait.
WORTH_IT = 5
MUST = 70
_NEVER = 1 << 30


class KdissectApp(ViewApp):
    """Application on a `session` that its caller started. The app listens to the session and closes it."""

    TITLE = "kdissect"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    AUTO_FOCUS = None  # a view chooses the widget that gets the keys: by default the filter would
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable to Textual
        (0, "-narrow"),
        (116, "-normal"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(spec.key, f"view('{spec.name}')", spec.title, show=False) for spec in VIEWS),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("y", "copy", "Copy", show=False, tooltip="Copy the exchange, or the field that is chosen"),
        Binding(
            "w",
            "save",
            "Save",
            show=False,
            tooltip="Save the marked or selected exchanges, or the cause",
        ),
        Binding("W", "save_shown", "Save all shown", show=False, tooltip="Save all exchanges of the list"),
        Binding("s", "follow_stream", "Follow stream", show=False),
        Binding("t", "theme", "Theme", show=False),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, session: Session, state: State | None = None, may_use_files: bool = True) -> None:
        super().__init__(session, state, may_use_files)
        self._changes: dict[tuple[Change, str], None] = {}
        self._is_filtering = False
        self._switch_s = sys.getswitchinterval()
        self._garbage = Garbage()
        # Stored, as a query searches the screen in front, which may be the help.
        self._top = TopLine(session)
        self._view_bar = ViewBar()
        self._filter_bar = FilterBar(session)
        self._switcher = ContentSwitcher(id="views")
        session.changed = self._session_changed

    def compose(self) -> ComposeResult:
        """Yield the bars, the view and the keys, from top to bottom."""
        yield self._top
        yield self._view_bar
        yield self._filter_bar
        yield self._switcher
        yield KeyFooter()

    async def on_mount(self) -> None:
        """Start to listen, and show the first view."""
        loop = asyncio.get_running_loop()
        if self.state.theme in self.available_themes:
            self.theme = self.state.theme
        bar = self._filter_bar
        bar.history = self.state.history
        bar.accepted(self.session.filter_text)

        def call(function: Any, *arguments: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(function, *arguments)

        await self.show_view(FIRST)
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_S)
        self._garbage.start()
        self.session.listen(call)
        self.set_interval(1 / _UPDATES, self._pass_on)
        self.set_interval(_GARBAGE_S, self._garbage.look)
        if self.is_web:  # its driver begins without the focus, which our page has
            self.call_after_refresh(self.post_message, events.AppFocus())

    def on_unmount(self) -> None:
        """End the workers and save the user's state."""
        self._garbage.stop()
        sys.setswitchinterval(self._switch_s)
        self.state.theme = self.theme
        self.state.save()
        self.session.close()

    # views

    @property
    def view(self) -> View | None:
        """The view on screen."""
        current = self._switcher.visible_content
        return current if isinstance(current, View) else None

    async def show_view(self, name: str) -> View:
        """Bring a view to the front. Make it first if it was never shown."""
        spec = next(spec for spec in VIEWS if spec.name == name)
        switcher = self._switcher
        view = await self._made(spec, switcher)
        switcher.current = view.id
        self._view_bar.current = name
        self.session.ask(spec.studies)
        view.shown()
        if view.first_focus:
            view.query_one(view.first_focus).focus()
        return view

    async def _made(self, spec: Spec, switcher: ContentSwitcher) -> View:
        found = switcher.query(f"#view-{spec.name}")
        if found:
            return found.first(View)
        view = new_view(spec)
        await switcher.add_content(view)
        return view

    async def action_view(self, name: str) -> None:
        """Show a view."""
        await self.show_view(name)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """List every active key for the command palette, besides Textual's own commands."""
        yield from super().get_system_commands(screen)
        for key, active in screen.active_bindings.items():
            binding = active.binding
            if active.enabled and not binding.system and binding.description:
                what = binding.tooltip or binding.description
                action = partial(self.run_action, binding.action, active.node)
                yield SystemCommand(what, f"key {binding.key_display or key}", action)

    # what the session says

    def _session_changed(self, change: Change, what: str) -> None:
        self._changes[change, what] = None
        if change is Change.TROUBLE and self.is_running:
            self.notify(text(what).plain, severity="warning", markup=False, timeout=10)

    def _pass_on(self) -> None:
        """Show the widgets what is new, a few times a second, however often it changes."""
        changes, self._changes = self._changes, {}
        if not changes or not is_there(self._top):
            return
        kinds = {change for change, _ in changes}
        if Change.ROWS in kinds or Change.SHOWN in kinds:
            self._go_on_filtering()
        self._top.refresh()
        self._filter_bar.show_count()
        view = self.view
        if view is not None:
            for change, what in changes:
                view.session_changed(change, what)

    def _go_on_filtering(self) -> None:
        if self.session.shown.predicate is not None and not self._is_filtering:
            self._is_filtering = True
            self.run_worker(self._filter(), exclusive=False)

    async def _filter(self) -> None:
        """Ask the filter about the exchanges, a slice at a time, so that keys are answered in between."""
        try:
            while self.session.advance(_SLICE_S):
                self._changes[Change.SHOWN, ""] = None
                await asyncio.sleep(0.002)
        finally:
            self._is_filtering = False
        self._changes[Change.SHOWN, "done"] = None

    # what views say

    @on(GoTo)
    async def go_to(self, message: GoTo) -> None:
        """Show an exchange, or a field of it."""
        view = await self.show_view("exchanges")
        assert isinstance(view, ExchangesView)
        shown = self.session.shown
        if shown.predicate is not None and shown.position_of(message.row) is None:
            self.use_filter(UseFilter(""))
            self.give_notice(Notice("the filter was removed: it hid that exchange"))
        view.go_to(message.row, message.side, message.start, message.end, message.inside)

    @on(GoToConnection)
    async def go_to_connection(self, message: GoToConnection) -> None:
        """Show a connection in the table of them."""
        view = await self.show_view("connections")
        view.select(message.connection)

    @on(Selected)
    def take_selection(self, message: Selected) -> None:
        """Remember what is selected."""
        self.selected_row = message.row

    @on(UseFilter)
    def use_filter(self, message: UseFilter) -> None:
        """Filter by an expression that a view made, or that was typed."""
        expression = message.text.strip()
        before = self.session.filter_text
        if message.extend and before and expression:
            expression = f"({before}) and {expression}" if " or " in before else f"{before} and {expression}"
        bar = self._filter_bar
        try:
            self.session.set_filter(expression)
        except FilterError as error:
            bar.show_error(expression, error)
            return
        bar.accepted(expression)
        self.state.history = bar.history
        self._pass_on()

    @on(Follow)
    async def follow(self, message: Follow) -> None:
        """Show one connection."""
        await self.show_view("exchanges")
        self.post_message(UseFilter(f'connection == "{message.connection}"'))

    @on(Notice)
    def give_notice(self, message: Notice) -> None:
        """Say something."""
        severity: Any = message.severity
        self.notify(text(message.text).plain, severity=severity, markup=False)

    # keys

    async def on_event(self, event: events.Event) -> None:
        """Take every event: every key comes through here first."""
        if isinstance(event, events.Key):
            self._garbage.key_pressed()
        await super().on_event(event)

    def action_filter(self) -> None:
        """Type a filter."""
        self._filter_bar.start()

    def action_theme(self) -> None:
        """Dark or light."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_copy(self) -> None:
        """Choose a form, and copy."""
        row = self.selected_row
        if row is None:
            self.give_notice(Notice("no exchange is selected"))
            return
        self.push_screen(CopyScreen(self.session, row, None if self.view is None else self.view.chosen_field))

    @uses_files
    def deliver_screenshot(self, *arguments: Any, **named: Any) -> Any:
        """Save a picture of the screen, for the command palette."""
        return super().deliver_screenshot(*arguments, **named)

    @uses_files
    def save_rows(self, rows: Sequence[int], what: str, connections: frozenset[str] = frozenset()) -> None:
        """Ask where to save exchanges, or connections."""
        self.push_screen(SaveScreen(self.session, rows, what, connections))

    def action_save(self) -> None:
        """Save what the view has chosen, else what is marked, else what is selected."""
        if self.view is not None and self.view.save():
            return
        marked = [row for row, is_marked in enumerate(self.session.log.marked) if is_marked]
        rows = marked or ([] if self.selected_row is None else [self.selected_row])
        if not rows:
            self.give_notice(Notice("no exchange is selected"))
            return
        what = plural(len(marked), "marked exchange") if marked else f"exchange {rows[0] + 1}"
        self.save_rows(rows, what)

    def action_save_shown(self) -> None:
        """Save all that the list shows."""
        shown = self.session.shown
        rows = [shown[position] for position in range(len(shown))]
        self.save_rows(rows, f"all {plural(len(rows), 'exchange')} of the list")

    def action_follow_stream(self) -> None:
        """Show the conversation that the selected exchange is part of."""
        row = self.selected_row
        if row is None:
            self.give_notice(Notice("no exchange is selected"))
            return
        self.push_screen(FollowScreen(self.session, self.session.log.connection(row).id, row))

    def action_help(self) -> None:
        """Show every key."""
        self.push_screen(HelpScreen())


# When the garbage collector runs: full collections wait until the user stops typing.
#
# A full collection blocks the interpreter for 5 to 30 ms here (it also frees the trees of earlier exchanges),
# and Python starts one in the middle of any allocation: most often while drawing the effect of a key.
class Garbage:
    """Garbage collection that `start` and `stop` control. The application calls `key_pressed` and `look` on
    its thread.
    """

    clock: ClassVar[Any] = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()
        self._last_key = -IDLE_S

    def start(self) -> None:
        """Freeze the present objects: going through them again and again would delay keys."""
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*self._thresholds[:2], _NEVER)

    def stop(self) -> None:
        """Restore the former settings."""
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def key_pressed(self) -> None:
        """Note the time of a key."""
        self._last_key = self.clock()

    def look(self) -> bool:
        """Collect if it is worth it and the user is not typing. Return whether it collected."""
        waiting = gc.get_count()[2]
        is_idle = self.clock() - self._last_key >= IDLE_S
        if waiting < (WORTH_IT if is_idle else MUST):
            return False
        gc.collect()
        return True
