"""Bytes as rows of hex and text, some of them marked."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.tui.widgets.styled_lines import Line, Piece

BYTES_A_ROW = 16


def hex_rows(
    data: bytes, start: int, end: int, marked: tuple[int, int] = (-1, -1), hidden: bytes = b""
) -> Iterator[Line]:
    """Yield rows from the one with byte `start` up to the one before `end`. Offsets count from 0.

    Bytes from `marked[0]` to `marked[1]` appear between brackets and in another style. `hidden` has a byte
    other than 0 for each byte that the screen must not show.
    """
    for at in range(start - start % BYTES_A_ROW, min(end, len(data)), BYTES_A_ROW):
        yield _row(data, at, marked, hidden)


def _row(data: bytes, at: int, marked: tuple[int, int], hidden: bytes) -> Line:
    line: list[Piece] = [(f"{at:06x} ", "dim")]
    for offset in range(at, at + BYTES_A_ROW):
        line.append(_between(offset, marked))
        if offset >= len(data):
            line.append(("  ", ""))
        else:
            shown = "**" if offset < len(hidden) and hidden[offset] else f"{data[offset]:02x}"
            line.append((shown, "mark" if marked[0] <= offset < marked[1] else ""))
    last = at + BYTES_A_ROW
    line.append(("]" if marked[0] < last == marked[1] else " ", "mark" if last == marked[1] else ""))
    row = data[at : at + BYTES_A_ROW]
    text = "".join(
        "*" if at + i < len(hidden) and hidden[at + i] else chr(byte) if 0x20 <= byte < 0x7F else "."
        for i, byte in enumerate(row)
    )
    line.append((f" {text}", "dim"))
    return line


def _between(offset: int, marked: tuple[int, int]) -> Piece:
    """Return the text before a byte: brackets show the marked ones also without colours."""
    if offset == marked[0] and marked[1] > marked[0]:
        return "[", "mark"
    if offset == marked[1] and offset % BYTES_A_ROW:
        return "]", "mark"
    return " ", "mark" if marked[0] < offset < marked[1] and offset % BYTES_A_ROW else ""
