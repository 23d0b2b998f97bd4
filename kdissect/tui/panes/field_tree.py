"""The tree of an exchange: its lines that are open, drawn as they come into sight."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from kdissect.tui.panes.dissection import Dissected, Item, open_lines
from kdissect.tui.widgets.line_view import LineView

_KINDS = ("side", "fact", "bad", "odd", "group", "value", "type")
_INDENT = 2


class FieldTree(LineView):
    """The tree of fields. `cursor` is a line. `Chosen` reports the field at the cursor."""

    prefix = "tree"
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree--cursor", "tree--cursor-blurred", *(f"tree--{name}" for name in _KINDS),
    }  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "go(0)", "First field", show=False),
        Binding("end,G", "go(-1)", "Last field", show=False),
        Binding("left", "close", "Close, or to the parent", show=False),
        Binding("right", "open", "Open", show=False),
        Binding("enter,space", "open_or_close", "Open or close", show=False),
        Binding("asterisk", "open_all", "Open everything below", show=False, key_display="*"),
    ]
    # Lines that `*` opens at most.
    MOST_OPENED = 5000

    class Chosen(Message):
        """Another field is under the cursor."""

        def __init__(self, item: Item) -> None:
            self.item = item
            super().__init__()

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._dissected: Dissected | None = None
        self._lines: list[Item] = []
        self.note = ""
        self._shift = 0
        self._measured = (-1, 0)

    @property
    def dissected(self) -> Dissected | None:
        """The exchange on screen."""
        return self._dissected

    @property
    def lines(self) -> list[Item]:
        """The lines that are open."""
        return self._lines

    @property
    def item(self) -> Item | None:
        """The line under the cursor."""
        return self._lines[self.cursor] if self.cursor < len(self._lines) else None

    # content

    def show(self, dissected: Dissected | None, note: str = "") -> None:
        """Show another exchange; `note` says why there is none."""
        old = self.item
        side, names = (old.side, _path(old)) if old is not None else ("", [])
        self._dissected = dissected
        self.note = note
        self._layout()
        self.set_reactive(FieldTree.cursor, 0)
        self.scroll_to(0, 0, animate=False, immediate=True)
        if dissected is not None and side and names:
            self._stay(dissected, side, names)
        elif dissected is not None:
            self.set_reactive(FieldTree.cursor, self._lines.index(dissected.roots[:2][-1]))
        self.refresh()
        self._tell()

    def _stay(self, dissected: Dissected, side: str, names: list[str]) -> None:
        """Go to the field of the former exchange's cursor, as far as this exchange has the same fields."""
        item = dissected.root(side)
        for name in names[1:]:
            inner = next((each for each in item.children if each.label == name), None) if item else None
            if inner is None:
                break
            item = inner
        if item is not None:
            self.choose(item)

    def choose(self, item: Item) -> None:
        """Open what is around a line, and put the cursor on it."""
        above = item.parent
        while above is not None:
            above.is_open = True
            above = above.parent
        self._layout()
        if item in self._lines:
            self.cursor = self._lines.index(item)
            self._tell()

    def _layout(self) -> None:
        self._lines = list(open_lines(self._dissected.roots)) if self._dissected is not None else []
        self.set_lines(max(len(self._lines), 1))
        self.refresh()

    def _tell(self) -> None:
        item = self.item
        if item is not None:
            self.post_message(self.Chosen(item))

    # drawing

    def on_resize(self) -> None:
        """Another width."""
        self._layout()

    def render_line(self, y: int) -> Strip:
        """Return one line of the window."""
        width, base = self.size.width, self.base_style
        index = self.top + y
        if not self._lines and y == 0 and self.note:
            return Strip([Segment(" " + self.note, base + self.named_style("type"))]).adjust_cell_length(
                width, base
            )
        if index >= len(self._lines):
            return Strip.blank(width, base)
        if y == 0 or self._measured[0] != self.top:
            self._measure()
        item = self._lines[index]
        is_here = index == self.cursor
        if is_here:
            base = base + self.named_style("cursor" if self.has_focus else "cursor-blurred")
        return self._draw(item, base, is_here, width)

    def _indent(self, item: Item) -> int:
        """Return the cells before a line, fewer if all lines on screen are deep, so that they fit."""
        return max(item.depth - self._shift, 0) * _INDENT

    def _measure(self) -> None:
        top, depths = self.top, [item.depth for item in self._lines[self.top : self.top + self.visible_lines]]
        shift = max(min(depths, default=0) - 1, 0)
        if (top, shift) != self._measured:
            is_other = shift != self._shift
            self._measured, self._shift = (top, shift), shift
            if is_other:
                self.refresh()

    def _draw(self, item: Item, base: Style, is_here: bool, width: int) -> Strip:
        arrow = ("▼ " if item.is_open else "▶ ") if item.can_open else "  "
        lead = " " * self._indent(item) + arrow
        kind = item.kind if item.kind in _KINDS else ""
        label = base + self.named_style(kind) if kind and not is_here else base
        value = base if is_here or kind == "bad" else base + self.named_style("value")
        segments = [Segment(lead, base), Segment(item.label, label)]
        if item.value:
            segments += [Segment(": " if item.kind == "fact" else " ", base), Segment(item.value, value)]
        if item.node is not None and not item.can_open and item.node.type:
            segments.append(
                Segment(f"  {item.node.type}", base if is_here else base + self.named_style("type"))
            )
        strip, room = Strip(segments), self.scrollable_content_region.width
        if strip.cell_length > room:
            strip = Strip([*strip.crop(0, room - 1), Segment("…", base)])
        return strip.adjust_cell_length(width, base)

    # keys and mouse

    def go_to(self, index: int) -> None:
        """Move the cursor to a line."""
        self.cursor = max(0, min(index, len(self._lines) - 1))
        self._tell()

    def action_move(self, step: int) -> None:
        """Move one line up or down."""
        self.go_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move a screenful up or down."""
        self.go_to(self.cursor + step * max(self.visible_lines - 1, 1))

    def action_go(self, index: int) -> None:
        """Go to the first or last line."""
        self.go_to(index if index >= 0 else len(self._lines) - 1)

    def action_open_or_close(self) -> None:
        """Open or close."""
        item = self.item
        if item is not None and item.can_open:
            item.is_open = not item.is_open
            self._layout()

    def action_open(self) -> None:
        """Open the line, or move to the first line below it if it is open."""
        item = self.item
        if item is None or not item.can_open:
            return
        if item.is_open:
            self.go_to(self.cursor + 1)
        else:
            self.action_open_or_close()

    def action_close(self) -> None:
        """Close the line, or move to the line around it if it is closed."""
        item = self.item
        if item is None:
            return
        if item.can_open and item.is_open:
            self.action_open_or_close()
        elif item.parent is not None:
            self.go_to(self._lines.index(item.parent))

    def action_open_all(self) -> None:
        """Open everything below, as far as people can read it."""
        item = self.item
        waiting = [item] if item is not None else []
        opened = 0
        while waiting and opened < self.MOST_OPENED:
            each = waiting.pop()
            if each.can_open:
                each.is_open = True
                waiting += each.children
                opened += len(each.children)
        self._layout()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor. A click on an arrow opens or closes the line."""
        index = self.top + event.y
        if index >= len(self._lines):
            return
        item = self._lines[index]
        self.go_to(index)
        if self._indent(item) <= event.x < self._indent(item) + _INDENT or event.chain == 2:
            self.action_open_or_close()


def _path(item: Item | None) -> list[str]:
    names: list[str] = []
    while item is not None:
        names.insert(0, item.label)
        item = item.parent
    return names
