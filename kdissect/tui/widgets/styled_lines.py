"""Styled lines of text, scrolled: lines beyond the screen cost no time until they are visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kdissect.tui.widgets.safe_text import cut, safe

Piece = tuple[str, str]
"""Text that is safe to show, and the name of a style (`""` for none)."""
Line = Sequence[Piece]


class Lines(ScrollView, can_focus=True):
    """A widget of lines. `show` lines, or `extend` them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown,space", "page_down", "Page down", show=False),
        Binding("home,g", "scroll_home", "Top", show=False),
        Binding("end,G", "scroll_end", "Bottom", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--bad", "lines--odd", "lines--good", "lines--dim", "lines--name", "lines--bold", "lines--mark",
        "lines--request", "lines--response",
    }  # fmt: skip
    DEFAULT_CSS = """
    Lines {
        background: $surface; color: $foreground; height: 1fr;
        overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1;
        & > .lines--bad { color: $text-error; }
        & > .lines--odd { color: $text-warning; }
        & > .lines--good { color: $text-success; }
        & > .lines--dim { color: $text-muted; }
        & > .lines--name { color: $text-primary; }
        & > .lines--bold { text-style: bold; }
        & > .lines--mark { text-style: reverse; }
        & > .lines--request { color: $text-primary; text-style: bold; }
        & > .lines--response { color: $text-secondary; text-style: bold; }
    }
    """

    class NearEnd(Message):
        """The last lines are on the screen: who has more may bring them."""

        def __init__(self, lines: Lines) -> None:
            super().__init__()
            self.lines = lines

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._lines: list[Line] = []

    def show(self, lines: Iterable[Line], keep_place: bool = False) -> None:
        """Show other lines, from the first one unless `keep_place`."""
        self._lines = list(lines)
        self._measure()
        if not keep_place:
            self.scroll_to(y=0, animate=False)
        self.refresh()

    def extend(self, lines: Iterable[Line]) -> None:
        """Show more."""
        self._lines += lines
        self._measure()
        self.refresh()

    def __len__(self) -> int:
        return len(self._lines)

    def text(self) -> str:
        """Return the whole text, for tests and for copying."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def go_to(self, line: int) -> None:
        """Have a line at the top."""
        self.scroll_to(y=line, animate=False)

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._lines))

    def on_resize(self) -> None:
        """Measure again: lines are cut at the screen's width, not scrolled sideways."""
        self._measure()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Ask for more when the end comes near."""
        super().watch_scroll_y(old, new)
        if new + 2 * self.size.height >= len(self._lines):
            self.post_message(self.NearEnd(self))

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        width, style = self.size.width, self.rich_style
        at = self.scroll_offset.y + y
        if at >= len(self._lines):
            return Strip.blank(width, style)
        segments, left = [], self.scrollable_content_region.width
        for text, name in self._lines[at]:
            shown = cut(safe(text), left)
            segments.append(Segment(shown, style + self._part(name) if name else style))
            left -= Segment(shown).cell_length
        return Strip(segments).adjust_cell_length(width, style)

    def _part(self, name: str) -> Style:
        return self.get_component_rich_style(f"lines--{name}", partial=True)
