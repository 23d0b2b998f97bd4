"""The tables of `diff`: what differs, and what each API took, side by side."""

from __future__ import annotations

from typing import Any

from kdissect.report.cells import Cell, TableColumn, number_column, text_column
from kdissect.report.printable import printable
from kdissect.report.quantities import byte_count, duration
from kdissect.stats.comparison.sides import BATCH_SIZE, BODY_SIZES, RESPONSE_TIME

Facts = dict[str, Any]
_NAMES_SHOWN = 3


def difference_columns() -> list[TableColumn]:
    """Return the columns of the differences, a row for each."""
    return [
        number_column("", "rank"),
        TableColumn("kind", lambda row: Cell(row["kind"], _style(row))),
        TableColumn("clients", _clients, rank=1),
        text_column("API", "api"),
        TableColumn("what", _what),
        TableColumn("good", lambda row: Cell(_side(row, "good"))),
        TableColumn("bad", lambda row: Cell(_side(row, "bad"), _style(row))),
    ]


def step_columns() -> list[TableColumn]:
    """Return the columns of each API's counts in both captures."""
    return [
        TableColumn("client", lambda row: Cell(printable(_pair(row["good_client"], row["bad_client"])))),
        text_column("API", "api"),
        *_both("exchanges", "exchanges"),
        *_both("errors", "errors"),
        *_both("p50", "p50_ns"),
        *_both("bytes", "bytes"),
    ]


def cause_columns() -> list[TableColumn]:
    """Return the causes that are new, worse, better or gone."""
    return [
        TableColumn("", lambda row: Cell(row["state"], "bad" if row["state"] in ("new", "worse") else "dim")),
        text_column("cause", "title"),
        number_column("times good", "good_times"),
        number_column("bad", "bad_times"),
        text_column("who", "who", rank=1),
        text_column("what", "sentence"),
    ]


def _both(title: str, field: str) -> list[TableColumn]:
    form = {"p50_ns": duration, "bytes": byte_count}.get(field, str)

    def cell_of(side: str) -> TableColumn:
        def cell(row: Facts) -> Cell:
            value = None if row[side] is None else row[side][field]
            if value is None or (field == "errors" and not value):
                return Cell("")
            return Cell(form(value), "bad" if field == "errors" else "")

        return TableColumn(f"{title} {side}" if side == "good" else side, cell, right=True)

    return [cell_of("good"), cell_of("bad")]


def _pair(good: str | None, bad: str | None) -> str:
    if good == bad or bad is None:
        return good or ""
    return bad if good is None else f"{good} / {bad}"


def _style(row: Facts) -> str:
    if row["better"]:
        return "dim"
    return "bad" if row["kind"] == "outcome" else ""


def _clients(row: Facts) -> Cell:
    names = row["clients"]
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return Cell(printable(f"{shown} and {more} more" if more > 0 else shown))


def _what(row: Facts) -> Cell:
    more = len(row["elements"])
    text = f"{row['what']} (better)" if row["better"] else row["what"]
    return Cell(printable(f"{text} and {more} more" if more else text))


def _side(row: Facts, side: str) -> str:
    seen = row[side]
    if seen is None:
        return "absent"
    if "p50" in seen:
        return f"median {_quantity(row['what'], seen['p50'])}"
    whole = seen["count"]
    values = seen["values"]
    for one in values:
        if one["count"] == whole:
            return _value(one["value"])
    return ", ".join(f"{_value(one['value'])} ({one['count']} of {whole})" for one in values)


def _quantity(what: str, number: int) -> str:
    if what == RESPONSE_TIME:
        return duration(number)
    return byte_count(number) if what in (*BODY_SIZES, BATCH_SIZE) else str(number)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value)) or "(empty)"
