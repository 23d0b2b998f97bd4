"""The base of lists, trees and bytes on screen: lines that are drawn when they come into sight.

Textual would lay out the whole screen again whenever the number of lines changes. A growing list does that
ten times a second. So sizes are set here without a layout, and only the lines that changed are drawn.
"""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.widget import Widget


class LineView(ScrollView, can_focus=True):
    """Lines with a cursor. `prefix` is the prefix of its component classes. `heads` lines at the top do not
    scroll.

    `cursor` is a line, unless a subclass defines it as something else.
    """

    prefix = ""
    heads = 0
    cursor: reactive[int] = reactive(0)

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._styles_by_name: dict[str, Style] = {}
        self._base: Style | None = None

    @property
    def top(self) -> int:
        """The first line on screen, without heads."""
        return round(self.scroll_offset.y)

    @property
    def visible_lines(self) -> int:
        """Lines that fit, without heads."""
        return max(self.scrollable_content_region.height - self.heads, 1)

    def set_lines(self, count: int) -> None:
        """Set the number of lines, heads not counted."""
        size = Size(self.size.width, count + self.heads)
        if size == self.virtual_size:
            return
        self.set_reactive(Widget.virtual_size, size)
        self.vertical_scrollbar.window_virtual_size = size.height
        self.vertical_scrollbar.window_size = self.scrollable_content_region.height
        if self.scroll_y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def keep_in_sight(self, line: int) -> None:
        """Scroll as little as needed."""
        if line < self.top:
            self.scroll_to(y=line, animate=False, immediate=True)
        elif line >= self.top + self.visible_lines:
            self.scroll_to(y=line - self.visible_lines + 1, animate=False, immediate=True)

    def draw_lines(self, first: int, last: int) -> None:
        """Draw these lines again if they are on screen."""
        self.refresh(Region(0, first - self.top + self.heads, self.size.width, last - first + 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw the cursor's line, and keep it in sight."""
        self.draw_lines(old, old)
        self.draw_lines(new, new)
        self.keep_in_sight(new)

    # styles

    @property
    def base_style(self) -> Style:
        """Colours of the widget, cached because Textual asks all ancestors each time."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def named_style(self, name: str) -> Style:
        """Return the style of a component class, its colours blended with the background."""
        found = self._styles_by_name.get(name)
        if found is None:
            found = self.get_component_rich_style(f"{self.prefix}--{name}")
            self._styles_by_name[name] = found
        return found

    def notify_style_update(self) -> None:
        """Another theme, or another focus."""
        super().notify_style_update()
        self._styles_by_name.clear()
        self._base = None
