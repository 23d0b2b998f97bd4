"""The list of exchanges in another order than that of completion.

Sorted by parts that are merged in Python: one sort of a million rows would hold the interpreter for a second,
and the keys with it.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.tui.panes.exchange_columns import COLUMNS
from kdissect.tui.panes.shown_exchanges import Shown
from kdissect.tui.widgets.row_order import Rank, rank

# Rows sorted in one go, 2 to 3 ms.
PART = 8192

KeyOf = Callable[[ExchangeLog, int], Any]
_NUMBERS: dict[str, KeyOf] = {
    "number": lambda log, row: row,
    "time": lambda log, row: log.time_ns(row),
    "latency": lambda log, row: log.latency_ns(row),
    "rtt": lambda log, row: log.rtt_ns(row),
    "delay": lambda log, row: log.delay_ns(row) or None,  # shown empty
    "size": lambda log, row: (
        (log.bytes_on_wire(row, "request") or 0) + (log.bytes_on_wire(row, "response") or 0)
    ),
}


class Cancelled(Exception):  # noqa: N818 - it is no error
    """End of an ordering whose result is no longer wanted."""


class Ordered:
    """A `Shown` with its first rows in an order. Rows that came later follow as they came."""

    def __init__(self, shown: Shown, rows: array[int]) -> None:
        self.shown = shown
        self._rows = rows
        self._positions = array("I", bytes(4 * len(rows)))
        for position, row in enumerate(rows):
            base = shown.position_of(row)
            self._positions[position if base is None else base] = position

    @property
    def log(self) -> ExchangeLog:
        """The log."""
        return self.shown.log

    def __len__(self) -> int:
        return len(self.shown)

    def __getitem__(self, position: int) -> int:
        """Return the row at a position of the list."""
        return self._rows[position] if position < len(self._rows) else self.shown[position]

    def __iter__(self) -> Iterator[int]:
        return (self[position] for position in range(len(self)))

    def position_of(self, row: int) -> int | None:
        """Return the position of a row in the list, or None if the list does not show it."""
        base = self.shown.position_of(row)
        return None if base is None else self._position(base)

    def near(self, row: int) -> int:
        """Return the position of a row, or of the first shown row that completed after it."""
        return self._position(self.shown.near(row))

    def _position(self, base: int) -> int:
        return self._positions[base] if base < len(self._positions) else base


def ordered(shown: Shown, column: str, is_down: bool, is_cancelled: Callable[[], bool]) -> Ordered:
    """Return the order of the visible rows by the content of a column, with rows of an empty cell last.

    Takes about 5 us a row, so call it in a thread. Raises Cancelled.
    """
    log, key = shown.log, _key_of(column)
    parts: list[list[int]] = []
    empty: list[int] = []
    for rows in _parts(shown):
        if is_cancelled():
            raise Cancelled
        keys = [key(log, row) for row in rows]
        empty += [row for row, own in zip(rows, keys, strict=True) if own is None]
        found = [(own, row) for row, own in zip(rows, keys, strict=True) if own is not None]
        found.sort(key=lambda each: each[0], reverse=is_down)
        parts.append([row for _, row in found])
    merged = array("I")
    for row in heapq.merge(*parts, key=lambda row: key(log, row), reverse=is_down):
        merged.append(row)
        if not len(merged) % PART and is_cancelled():
            raise Cancelled
    merged.extend(empty)
    return Ordered(shown, merged)


def next_flagged(flags: bytearray, shown: Ordered, position: int, step: int) -> int | None:
    """Return the next position after (`step` 1) or before (-1) one whose row's byte is 1."""
    positions: Sequence[int] = range(position + 1, len(shown)) if step > 0 else range(position - 1, -1, -1)
    return next((at for at in positions if flags[shown[at]]), None)


def _parts(shown: Shown) -> Iterator[list[int]]:
    count = len(shown)  # what comes meanwhile is not sorted
    for first in range(0, count, PART):
        yield [shown[position] for position in range(first, min(first + PART, count))]


def _key_of(column: str) -> KeyOf:
    known = _NUMBERS.get(column)
    if known is not None:
        return known
    cell = next(each.cell for each in COLUMNS if each.name == column)
    ranks: dict[str, Rank | None] = {"": None}

    def key(log: ExchangeLog, row: int) -> Rank | None:
        text = cell(log, row)[0]
        found = ranks.get(text)
        if found is None and text:
            found = ranks[text] = rank(text)
        return found

    return key
