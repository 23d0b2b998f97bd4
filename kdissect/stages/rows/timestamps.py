"""Timestamps of tables, in microseconds, computed from the numbers next to them, or from their text.

A column `X` of the type timestamp has `X_ns` or `X_ms` next to it. Without either, the row has its text
(`engine.times`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.engine.tables.shape import Shape, shapes_of
from kdissect.engine.tables.table import Table

US = 1000
_MOST_US = (1 << 63) - 1
_EPOCH, _ONE_US = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
Step = tuple[str, Callable[[Row, str], Any]]
"""The name of a column, and what makes its value of a row and that name."""


def set_timestamps(table: Table, rows: Sequence[Row]) -> None:
    """Put the timestamps into rows, and replace structs that contain timestamps by new ones."""
    steps = _steps(table.fields)
    for row in rows:
        for name, made in steps:
            row[name] = made(row, name)


@cache  # one a table
def _steps(fields: tuple[Any, ...]) -> tuple[Step, ...]:
    return _steps_of(shapes_of(fields))


def _steps_of(shapes: Sequence[Shape]) -> tuple[Step, ...]:
    names = {shape.name for shape in shapes}
    steps: list[Step] = []
    for shape in shapes:
        if shape.kind == "timestamp":
            made = (
                _of_ns if f"{shape.name}_ns" in names else _of_ms if f"{shape.name}_ms" in names else _of_text
            )
            steps.append((shape.name, made))
        elif below := _steps_of(shape.fields):
            steps.append((shape.name, _of_struct(below)))
    return tuple(steps)


def _of_struct(steps: tuple[Step, ...]) -> Callable[[Row, str], Any]:
    def one(row: Row) -> Row:
        row = dict(row)
        for name, made in steps:
            row[name] = made(row, name)
        return row

    def structs(row: Row, name: str) -> Any:
        held = row.get(name)
        if not held:
            return held
        return one(held) if isinstance(held, dict) else [one(each) for each in held]

    return structs


def _of_ns(row: Row, name: str) -> int | None:
    value: int | None = row.get(f"{name}_ns")
    return None if value is None else value // US


def _of_ms(row: Row, name: str) -> int | None:
    """None for one that is no date: producers may write anything."""
    value: int | None = row.get(f"{name}_ms")
    return None if value is None or not -_MOST_US <= value * US <= _MOST_US else value * US


def _of_text(row: Row, name: str) -> int | None:
    """None for what is no date."""
    text: str | None = row.get(name)
    try:
        return None if text is None else (datetime.fromisoformat(text) - _EPOCH) // _ONE_US
    except ValueError:
        return None
