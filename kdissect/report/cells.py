"""Cells and columns of tables: values of rows as text that is safe to show."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kdissect.report.printable import field_text, inert_json, printable


class Cell(NamedTuple):
    """Text that is safe to print, and the name of its style (`""` for none)."""

    text: str
    style: str = ""


class TableColumn(NamedTuple):
    """One column.

    If the terminal is too narrow, columns of the highest `rank` are dropped first. Columns of rank 0 stay.
    The screen drops columns of rank 2 or higher before it cuts a text of up to `readable` cells.
    `value` names what of a row it shows, where that is one value. `dated` is the cell of a time with its
    date, for tables whose rows are of several days. `moment` names the time of a row, in RFC 3339, that
    `--time` may show otherwise.
    """

    title: str
    cell: Callable[[dict[str, Any]], Cell]
    min_width: int = 0
    rank: int = 0
    right: bool = False
    value: str = ""
    dated: Callable[[dict[str, Any]], Cell] | None = None
    moment: str = ""
    readable: int = 0


def used_columns(columns: Sequence[TableColumn], rows: Sequence[dict[str, Any]]) -> list[TableColumn]:
    """Return the columns in which any row has something."""
    return [column for column in columns if any(column.cell(row).text for row in rows)]


NAME_WIDTH = 32
"""Cells in which the names of clients, groups and topics are readable."""
_SOFTWARE_WIDTH = 24  # `apache-kafka-java 4.4.0`


def count_cell(count: int, style: str = "") -> Cell:
    """Return a count, nothing for 0."""
    return Cell(str(count) if count else "", style)


def number_column(title: str, field: str, min_width: int = 0, rank: int = 0, style: str = "") -> TableColumn:
    """Return a number of the row, nothing for none."""

    def number(row: dict[str, Any]) -> Cell:
        return Cell("" if row[field] is None else str(row[field]), style)

    return TableColumn(title, number, min_width, rank, right=True, value=field)


def text_column(title: str, field: str, min_width: int = 0, rank: int = 0, style: str = "") -> TableColumn:
    """Return a text of the row, nothing for none."""
    return TableColumn(
        title, lambda row: Cell(printable(row[field] or ""), style), min_width, rank, value=field
    )


def name_column(title: str, field: str, rank: int = 0) -> TableColumn:
    """Return a name that can be long: of a client, a group, a topic."""
    return text_column(title, field, rank=rank)._replace(readable=NAME_WIDTH)


def software_column() -> TableColumn:
    """Return the software of the row with its version, which the screen leaves out rather than cuts."""
    return text_column("software", "software", rank=2)._replace(readable=_SOFTWARE_WIDTH)


def cluster_column(of: str = "") -> TableColumn:
    """Return the cluster of the row, or of what the row has as `of`; nothing if the captures have one
    alone.
    """
    return TableColumn(
        "cluster", lambda row: Cell(printable((row[of] if of else row).get("cluster") or "")), rank=2
    )


_DATED, _OF_DAY = slice(0, 23), slice(11, 23)  # of RFC 3339, to a millisecond


def time_column(
    title: str, field: str, rank: int = 0, of_day: bool = False, without: str = ""
) -> TableColumn:
    """Return a time of the row, RFC 3339 in UTC; with `of_day` the date is left out where all are of one day.

    `without` stands for none.
    """

    def with_date(row: dict[str, Any]) -> Cell:
        return Cell(dated(row[field]) if row[field] else without)

    def of_the_day(row: dict[str, Any]) -> Cell:
        return Cell(row[field][_OF_DAY] if row[field] else without)

    if of_day:
        return TableColumn(title, of_the_day, rank=rank, dated=with_date, moment=field)
    return TableColumn(title, with_date, rank=rank, moment=field)


def dated(time: str) -> str:
    """RFC 3339 as `2026-11-27 23:54:13.526`, in UTC."""
    return time[_DATED].replace("T", " ")


def counts_text(counts: dict[str, int]) -> str:
    """`none 3, lz4 2`."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


LIST_SEPARATOR = ","


def cell(value: Any) -> str:
    """Return a value as the text of one cell: null is empty, lists are joined by commas, structs are JSON.

    Safe for a terminal.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return field_text(value)
    if type(value) is int:
        return str(value)
    if isinstance(value, list):
        return LIST_SEPARATOR.join(map(cell, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        if not value:
            return "{}"
        import json  # start-up: few tables have structs

        return field_text(inert_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
    return str(value)
