"""Bars in a table, drawn by rich."""

from collections.abc import Sequence
from io import StringIO

from rich.bar import Bar
from rich.console import Console

WIDTH = 40


def bars(values: Sequence[float], width: int = WIDTH) -> list[str]:
    """A bar for each value, the largest `width` cells long, in eighths of a cell."""
    console = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False)
    largest = max(values, default=0) or 1
    drawn = []
    for value in values:
        lines = console.render_lines(Bar(largest, 0, value, width=width))
        drawn.append("".join(segment.text for segment in lines[0]).rstrip() if lines else "")
    return drawn
