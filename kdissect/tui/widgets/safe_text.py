"""Text from the wire for widgets: no control characters, no markup, no right-to-left tricks."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kdissect.report.printable import printable

# Characters of one text on screen: users do not read further, and layout takes time by length.
_MOST = 2000
MIN_FOR_BOTH = 7  # cells of a text that is cut in its middle


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, with an ellipsis at the end if it was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def cut_middle(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, with an ellipsis in its middle if something is left out.

    Long ids often begin in the same way, and their ends distinguish them.
    """
    if cell_len(text) <= width or width < MIN_FOR_BOTH or not text.isascii():
        return cut(text, width)
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[-end:]}"


def safe(text: str) -> str:
    """Return a string that moves and hides no other text. Not for widgets that read markup: see `text`."""
    if len(text) > _MOST:
        text = text[:_MOST] + "..."
    shown = printable(text)
    if shown.isascii():
        return shown
    # Characters that print but take no cell would join their neighbours: combining marks, joiners.
    return "".join(letter if cell_len(letter) else _escaped(letter) for letter in shown)


def text(value: str, style: str = "") -> Text:
    """Return a `Text` of a safe string that no widget reads as markup."""
    return Text(safe(value), style, no_wrap=True, end="")


def fitted(value: str, width: int, right: bool = False) -> str:
    """Return a string of exactly `width` cells, cut with an ellipsis or filled. The value is inert
    already.
    """
    length = len(value) if value.isascii() else cell_len(value)
    if length == width:
        return value
    if length < width:
        fill = " " * (width - length)
        return fill + value if right else value + fill
    return cut(value, width)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
