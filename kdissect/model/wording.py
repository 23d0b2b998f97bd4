"""Words in messages: counts with their nouns, runs of numbers, aligned cells, and names of files, which need
not be UTF-8.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence


def plural(count: int, noun: str, many: str = "", spec: str = "") -> str:
    """`1 byte`, `2 bytes`, `0 bytes`: a number and its noun.

    `many` is the plural unless it is `noun` with an s; `spec` formats the number (`,` for thousands).
    """
    return f"{count:{spec}} {noun if count == 1 else many or noun + 's'}"


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last of numbers that follow each other: `12, 13, 14, 20` are 12 to 14 and 20."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def runs_text(numbers: Iterable[int], to: str = "-") -> str:
    """`12-14, 20`: numbers that follow each other as one."""
    return ", ".join(str(first) if first == last else f"{first}{to}{last}" for first, last in runs(numbers))


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row, in columns as wide as their longest cell. Rows have equal lengths."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def path_text(path: str) -> str:
    """Return a path as text that every format can hold: what is no UTF-8 stands as `\\xff`."""
    if path.isascii():
        return path
    return _encoded(path).decode("utf-8", "backslashreplace")


def path_of(text: str) -> bytes:
    """Return the path that `path_text` made text of, whatever the locale is."""
    path = _encoded(text)
    if b"\\x" not in path or os.path.exists(path):  # noqa: PTH110  paths stay strings
        return path
    return re.sub(rb"\\x([89a-f][0-9a-f])", lambda found: bytes.fromhex(found[1].decode()), path)


def _encoded(path: str) -> bytes:
    """Return the bytes of a path. On Windows it may have half a pair of UTF-16, which stands for no byte."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")
