"""The order of a table's rows when they are sorted by a column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kdissect.report.cells import TableColumn

UP, DOWN = "▲", "▼"
"""Before the title of the column: no colour is needed to see which, and which way round."""

Rank = tuple[Any, ...]
_UNITS = {
    "": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "h": 3600.0,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
}  # fmt: skip
# Texts that `report.quantities` writes, and plain numbers followed by words.
_QUANTITY = re.compile(
    r"(?:more than )?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
    r"(?: (us|ms|s|h|B|kB|MB|GB|TB|PB))?(?: (\d\d) m)?(?:/s)?(?![^\s,])"
)
_DIGITS = re.compile(r"(\d+)")


class Order(NamedTuple):
    """An order by the column of a title, the least first, or with `is_down` the most."""

    title: str
    is_down: bool = False


def headed(title: str, order: Order | None, name: str) -> str:
    """Return the title of a column, with the order if it is by that column."""
    if order is None or order.title != name:
        return title
    return f"{DOWN if order.is_down else UP}{title}"


def next_order(order: Order | None, title: str) -> Order | None:
    """Return the order after one more press: the least first, then the most, then as the rows came."""
    if order is None or order.title != title:
        return Order(title)
    return None if order.is_down else Order(title, True)


def ordered(
    rows: Sequence[Any], columns: Sequence[TableColumn], order: Order | None, stays: Callable[[Any], bool]
) -> Sequence[Any]:
    """Return the order rows. Rows without a value come last either way, then rows that `stays` takes."""
    column = next((each for each in columns if order is not None and each.title == order.title), None)
    if order is None or column is None:
        return rows
    ranked: list[tuple[Rank, Any]] = []
    empty, last = [], []
    for row in rows:
        text = column.cell(row).text
        if stays(row):
            last.append(row)
        elif text and text != "-":
            ranked.append((rank(text), row))
        else:
            empty.append(row)
    ranked.sort(key=lambda each: each[0], reverse=order.is_down)
    return [*(row for _, row in ranked), *empty, *last]


def rank(text: str) -> Rank:
    """Rank numbers and quantities by their size, then texts. Numbers within texts count as numbers."""
    found = _QUANTITY.match(text)
    parts = tuple((0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part.casefold())
                  for part in _DIGITS.split(text[:200]) if part)  # fmt: skip
    if found is None:
        return (1, 0.0, parts)
    number, unit, minutes = found.groups()
    return (0, float(number) * _UNITS[unit or ""] + int(minutes or 0) * 60, parts)
