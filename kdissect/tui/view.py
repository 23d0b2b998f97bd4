"""Views: what fills the screen below the bars, and the app as they see it.

See the package's docstring for the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from textual.app import App
from textual.containers import Container
from textual.message import Message

from kdissect.tui.session import Change, Session
from kdissect.tui.user_state import State
from kdissect.tui.views import Spec


class Field(NamedTuple):
    """Bytes of a field, without secrets, and its name."""

    name: str
    data: bytes


Action = TypeVar("Action", bound=Callable[..., Any])


def uses_files(action: Action) -> Action:
    """Declare that an action of the app reads or writes files that its user names.

    If the app may not use files, the action shows a notice instead.
    """

    @wraps(action)
    def guarded(app: ViewApp, *arguments: Any, **named: Any) -> Any:
        if app.may_use_files:
            return action(app, *arguments, **named)
        app.post_message(Notice(FILES_OFF, "warning"))
        return None

    return cast(Action, guarded)


FILES_OFF = "files are off in the browser: kdissect tui --web-files allows them"


class ViewApp(App[None]):
    """The app for views and bars: its data, its settings, its selection, and the view in front.

    `may_use_files`: whether actions that are declared with `uses_files` are carried out.
    """

    def __init__(self, session: Session, state: State | None = None, may_use_files: bool = True) -> None:
        super().__init__()
        self.may_use_files = may_use_files
        self.session = session
        self.state = State() if state is None else state
        self.selected_row: int | None = None

    @property
    def view(self) -> View | None:
        """The view on screen."""
        raise NotImplementedError

    def save_rows(self, rows: Sequence[int], what: str, connections: frozenset[str] = frozenset()) -> None:
        """Ask where to save exchanges, by their rows in the log, or without rows connections, by their ids.

        `what` describes them.
        """
        raise NotImplementedError


class View(Container):
    """Base of views in a `ViewApp`. Its bindings appear while it is on screen."""

    can_focus = False
    first_focus: ClassVar[str] = ""
    """Selector of the widget that gets the keys when the view comes to the front."""

    @property
    def view_app(self) -> ViewApp:
        """The app around it."""
        app = self.app
        assert isinstance(app, ViewApp)  # only a `ViewApp` makes views
        return app

    @property
    def session(self) -> Session:
        """The session of the app."""
        return self.view_app.session

    @property
    def selected_row(self) -> int | None:
        """Row of the exchange that is selected; None while there is none."""
        return self.view_app.selected_row

    @property
    def chosen_field(self) -> Field | None:
        """The field that is chosen, for copying."""
        return None

    def shown(self) -> None:
        """Show the session's present data: the view came to the front."""

    def save(self) -> bool:
        """Save what is chosen in the view. Return False if that is the exchange that is selected."""
        return False

    def session_changed(self, change: Change, what: str) -> None:
        """Something is new, and the view is on screen. `what` is the study's name for `Change.RESULT`."""

    def select(self, identity: str) -> None:
        """Put the cursor on what has this identity, as soon as it is there. For views that others lead to."""

    def result(self, study: str) -> Any:
        """Return a study's last result, or None before the first."""
        return self.session.results.get(study)


def new_view(spec: Spec) -> View:
    """Make a view with the `id` `view-NAME`."""
    module, _, class_name = spec.where.partition(":")
    view: View = getattr(import_module(module), class_name)(id=f"view-{spec.name}")
    return view


class GoTo(Message):
    """Message to show an exchange in the exchanges view, and to select it.

    With `side` (`request`, `response`) and `start`, `end` (offsets from the end of the frame's size, as in
    findings) also the field at these offsets. `inside` names a piece below it (`records[3]` of a batch).
    """

    def __init__(self, row: int, side: str = "", start: int = -1, end: int = -1, inside: str = "") -> None:
        self.inside = inside
        self.row = row
        self.side = side
        self.start = start
        self.end = end
        super().__init__()


class GoToConnection(Message):
    """Show a connection in the connections view, by its id, and select it."""

    def __init__(self, connection: str) -> None:
        self.connection = connection
        super().__init__()


class UseFilter(Message):
    """Filter by an expression. `extend` joins it to the one that is there with `and`."""

    def __init__(self, text: str, extend: bool = False) -> None:
        self.text = text
        self.extend = extend
        super().__init__()


class Follow(Message):
    """Show the exchanges of one connection, by its id, in the exchanges view."""

    def __init__(self, connection: str) -> None:
        self.connection = connection
        super().__init__()


class Notice(Message):
    """Say something in a corner. `severity`: information, warning, error."""

    def __init__(self, text: str, severity: str = "information") -> None:
        self.text = text
        self.severity = severity
        super().__init__()


class Selected(Message):
    """Message that an exchange was selected. The app passes it to all views as `selected_row`."""

    def __init__(self, row: int) -> None:
        self.row = row
        super().__init__()
