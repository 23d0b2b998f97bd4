"""Text in exactly so many cells of the terminal."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, its end an ellipsis where something is left out."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + ELLIPSIS if width > 0 else ""
