"""Bytes of a frame across its packets, or of data that was compressed in it, with the chosen field marked."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from kdissect.tui.panes.dissection import Buffer
from kdissect.tui.widgets.line_view import LineView

_PARTS = ("offset", "bytes", "text", "field", "cursor", "packet", "title")
_WIDE, _NARROW = 16, 8
_OFFSET = 6


class HexPane(LineView):
    """The bytes of a buffer. `cursor` is an offset in the buffer. `Picked` reports that the user chose a
    byte.
    """

    prefix = "hex"
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"hex--{name}" for name in _PARTS}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", "Byte back", show=False),
        Binding("right,l", "move(1)", "Byte on", show=False),
        Binding("up,k", "line(-1)", "Line up", show=False),
        Binding("down,j", "line(1)", "Line down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "go(0)", "First byte", show=False),
        Binding("end,G", "go(-1)", "Last byte", show=False),
    ]

    class Picked(Message):
        """A byte was chosen."""

        def __init__(self, buffer: Buffer, offset: int) -> None:
            self.buffer = buffer
            self.offset = offset
            super().__init__()

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._buffer: Buffer | None = None
        self._start = self._end = 0

    @property
    def buffer(self) -> Buffer | None:
        """The buffer on screen."""
        return self._buffer

    @property
    def field(self) -> tuple[int, int]:
        """First byte of the chosen field, and the byte after its last."""
        return self._start, self._end

    # content

    def show(self, buffer: Buffer | None, start: int = 0, end: int = 0) -> None:
        """Show bytes, and the field in them that is chosen."""
        is_other = buffer is not self._buffer
        old = self._start, self._end
        self._buffer, self._start, self._end = buffer, start, end
        if is_other:
            self._layout()
            self.scroll_to(0, 0, animate=False, immediate=True)
        if is_other or not start <= self.cursor < max(end, start + 1):
            self.cursor = start
        self._show(start, end)
        if is_other:
            self.refresh()
        else:
            self._draw_bytes(*old)
            self._draw_bytes(start, end)

    def _draw_bytes(self, start: int, end: int) -> None:
        self.draw_lines(start // self.columns, max(end - 1, start) // self.columns)

    @property
    def columns(self) -> int:
        """Bytes in a line."""
        wide = _OFFSET + 3 * _WIDE + 1 + _WIDE
        return _WIDE if self.size.width >= wide else _NARROW

    @property
    def title(self) -> str:
        """The title, the packet at the cursor and the chosen field."""
        buffer = self._buffer
        if buffer is None:
            return "bytes"
        packet = buffer.packet_at(self.cursor)
        where = f", packet {packet}" if packet is not None else ""
        length = self._end - self._start
        chosen = f"field {self._start}-{self._end - 1}, {length} B" if length > 0 else "no bytes"
        return f"{buffer.title} · {chosen} · byte {self.cursor} of {len(buffer.data)}{where}"

    def _layout(self) -> None:
        count = len(self._buffer.data) if self._buffer is not None else 0
        self.set_lines(max(-(-count // self.columns), 1))

    def _show(self, start: int, end: int) -> None:
        """Scroll so that the beginning is in sight, and the end too if it fits."""
        first, last = start // self.columns, max(end - 1, start) // self.columns
        if first < self.top or first >= self.top + self.visible_lines:
            self.scroll_to(y=max(first - 1, 0), animate=False, immediate=True)
        elif last >= self.top + self.visible_lines:
            self.scroll_to(y=min(first, last - self.visible_lines + 1), animate=False, immediate=True)

    def on_resize(self) -> None:
        """Another width: other lines."""
        self._layout()
        self.refresh()

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw it elsewhere."""
        self._draw_bytes(old, old)
        self._draw_bytes(new, new)

    # drawing

    def render_line(self, y: int) -> Strip:
        """Return one line: offset, bytes, text, with a bar at the start of each packet."""
        base, width, buffer = self.base_style, self.size.width, self._buffer
        columns = self.columns
        first = (self.top + y) * columns
        if buffer is None or first >= len(buffer.data):
            return Strip.blank(width, base)
        last = min(first + columns, len(buffer.data))
        segments = [Segment(f"{first:05x} ", base + self.named_style("offset"))]
        letters: list[Segment] = [Segment(" ", base)]
        begins = {span.start for span in buffer.spans if first < span.start < last}
        for offset in range(first, first + columns):
            if offset >= last:
                segments.append(Segment("   ", base))
                continue
            style = base + self.named_style(self._part(offset))
            shown, letter = octet(buffer, offset)
            segments.append(Segment(shown, style))
            joins = self._start <= offset < self._end - 1 and offset + 1 < last
            gap = "│" if offset + 1 in begins else " "
            quiet = base + self.named_style("packet") if gap == "│" else base
            segments.append(Segment(gap, base + self.named_style("field") if joins and gap == " " else quiet))
            letters.append(Segment(letter, style))
        return Strip(segments + letters).adjust_cell_length(width, base).crop(0, width)

    def _part(self, offset: int) -> str:
        if offset == self.cursor and self.has_focus:
            return "cursor"
        return "field" if self._start <= offset < self._end else "bytes"

    # keys and mouse

    def pick(self, offset: int) -> None:
        """Choose a byte."""
        buffer = self._buffer
        if buffer is None or not buffer.data:
            return
        self.cursor = max(0, min(offset, len(buffer.data) - 1))
        self._show(self.cursor, self.cursor + 1)
        self.post_message(self.Picked(buffer, self.cursor))

    def action_move(self, step: int) -> None:
        """Move one byte on or back."""
        self.pick(self.cursor + step)

    def action_line(self, step: int) -> None:
        """Move one line up or down."""
        self.pick(self.cursor + step * self.columns)

    def action_page(self, step: int) -> None:
        """Move a screenful up or down."""
        self.pick(self.cursor + step * self.columns * max(self.visible_lines - 1, 1))

    def action_go(self, offset: int) -> None:
        """Go to the first or last byte."""
        if self._buffer is not None:
            self.pick(offset if offset >= 0 else len(self._buffer.data) - 1)

    def on_click(self, event: events.Click) -> None:
        """Choose the byte under the mouse, in the bytes or in the text."""
        columns = self.columns
        line = self.top + event.y
        x = event.x - _OFFSET
        column = x // 3 if x < 3 * columns else x - 3 * columns - 1
        if 0 <= column < columns:
            self.pick(line * columns + column)


def octet(buffer: Buffer, offset: int) -> tuple[str, str]:
    """Return a byte in hex and as a letter, with stars for secrets."""
    if buffer.hidden[offset]:
        return "**", "*"
    value = buffer.data[offset]
    return f"{value:02x}", chr(value) if 32 <= value < 127 else "·"
