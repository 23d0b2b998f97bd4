"""Every key, from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import ClassVar, NamedTuple

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from kdissect.tui.views import VIEWS

# Scopes of keys -> the class with the bindings, as "module:Class". Views are added from their registry.
_SCOPES = (
    ("Everywhere", "kdissect.tui.app:KdissectApp"),
    ("Filter", "kdissect.tui.filter_bar:FilterInput"),
    ("List", "kdissect.tui.panes.sorted_list:SortedList"),
    ("Fields", "kdissect.tui.panes.field_tree:FieldTree"),
    ("Bytes", "kdissect.tui.panes.hex_pane:HexPane"),
    ("Tables", "kdissect.tui.widgets.rows_table:RowsTable"),
    ("Text", "kdissect.tui.widgets.styled_lines:Lines"),
    ("Columns", "kdissect.tui.screens.column_screen:ColumnScreen"),
    ("Follow stream", "kdissect.tui.screens.follow:FollowScreen"),
)


class Key(NamedTuple):
    """A key and what it does."""

    scope: str
    key: str
    what: str


def all_keys() -> list[Key]:
    """Return every key, in the order of the scopes."""
    first, *rest = _SCOPES
    scopes = (first, *((f"View: {spec.title}", spec.where) for spec in VIEWS), *rest)
    return [key for scope, where in scopes for key in _keys(scope, where)]


def _keys(scope: str, where: str) -> Iterable[Key]:
    module, _, name = where.partition(":")
    for binding in _bindings(getattr(import_module(module), name)):
        shown = binding.key_display or " ".join(map(_named, binding.key.split(",")))
        yield Key(scope, shown, binding.tooltip or binding.description)
    if scope == "Everywhere":
        yield Key(scope, "ctrl+p", "Command palette")


def _bindings(owner: type) -> Iterable[Binding]:
    """Return the bindings of a class and of its base classes in kdissect. Its own one wins a key."""
    found: dict[str, Binding] = {}
    for base in owner.__mro__:
        if base.__module__.startswith("kdissect."):
            for given in vars(base).get("BINDINGS", ()):
                binding = given if isinstance(given, Binding) else Binding(*given)
                found.setdefault(binding.key, binding)
    return found.values()


def _named(key: str) -> str:
    return _SHORT.get(key, key)


_SHORT = {"pageup": "PgUp", "pagedown": "PgDn", "up": "↑", "down": "↓", "left": "←", "right": "→", "space":
"Space", "enter": "Enter", "escape": "Esc", "home": "Home", "end": "End", "tab": "Tab", "backspace":
"Backspace", "shift+tab": "Shift+Tab"}  # fmt: skip


def keys_table() -> str:
    """Return the keys in Markdown, for docs/tui.md."""
    lines = ["| where | key | what it does |", "|---|---|---|"]
    lines += [f"| {key.scope} | `{key.key}` | {key.what} |" for key in all_keys()]
    return "\n".join(lines)


class HelpScreen(ModalScreen[None]):
    """The keys in a window. Esc, ? or q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "leave", "Close")]

    def compose(self) -> ComposeResult:
        """Make one table."""
        with VerticalScroll(id="help-box"):
            yield Static(_table())

    def on_mount(self) -> None:
        """Keys scroll it."""
        self.query_one("#help-box").focus()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)


def _table() -> Table:
    table = Table.grid(padding=(0, 2))
    scope = ""
    for key in all_keys():
        if key.scope != scope:
            scope = key.scope
            table.add_row(Text(""), Text(""))
            table.add_row(Text(scope, "bold reverse"), Text(""))
        table.add_row(Text(f"  {key.key}", "bold"), Text(key.what))
    return table
