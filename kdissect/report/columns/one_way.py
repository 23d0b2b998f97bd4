"""The table of ways between two captures of the same connections, and what it says of their clocks."""

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.report.cells import Cell, TableColumn, name_column, number_column, text_column
from kdissect.report.columns.traffic import dimension_column
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Facts = dict[str, Any]
_SHOWN = 100  # an error below this part of a time is left out


def one_way_columns(by: Sequence[str]) -> list[TableColumn]:
    """Return the dimensions, then the ways."""
    return [*(dimension_column(name) for name in by), *_way_columns()]


def connection_columns() -> list[TableColumn]:
    """Return the connection, the two captures, then the ways."""
    return [
        number_column("#", "number", 3, 4, style="dim"),
        TableColumn("client", lambda row: Cell(row["client"]), 15),
        TableColumn("broker", lambda row: Cell(row["broker"]), 15),
        name_column("client id", "client_id", rank=1),
        text_column("near client", "near_client", rank=4),
        text_column("near broker", "near_broker", rank=4),
        *_way_columns(),
    ]


def _way_columns() -> list[TableColumn]:
    return [
        number_column("exchanges", "exchanges"),
        _time("both ways", "both_ways_ns"),
        _time("to broker", "to_broker_ns"),
        _time("to client", "to_client_ns"),
        _time("shortest", "shortest_ns"),
        _time("shortest to broker", "shortest_to_broker_ns"),
        _time("shortest to client", "shortest_to_client_ns"),
    ]


def clock_lines(clocks: Sequence[Facts]) -> Iterator[str]:
    """Yield a line about the clocks of each two captures."""
    for row in clocks:
        near, far = printable(row["near_client"]), printable(row["near_broker"])
        least, most = row["ahead_least_ns"], row["ahead_most_ns"]
        ahead = f"clocks: {far}'s clock is ahead of {near}'s clock by"
        if row["drift"]:
            yield f"clocks of {near} and {far} drift apart: one way alone is not known"
        elif row["contradicted"]:
            yield f"{ahead} {duration(least)} to {duration(most)}, more than the option allows"
        elif least == most == 0:
            yield f"clocks: {near} and {far} have one clock, as the option says"
        else:
            yield f"{ahead} {duration(least)} to {duration(most)}, by the shortest ways{_hint(row)}"


def _hint(row: Facts) -> str:
    if row["told"]:
        return ""
    return ": one way alone is not known; --clocks-within TIME says more (0ms: one clock made both)"


def _time(title: str, field: str) -> TableColumn:
    def cell(row: Facts) -> Cell:
        took_ns, error_ns = row[field], row["error_ns"]
        if took_ns is None:
            return Cell("")
        is_one_way = "_to_" in f"_{field}"
        has_error = is_one_way and error_ns and error_ns * _SHOWN >= abs(took_ns)
        return Cell(duration(took_ns) + (f" \N{PLUS-MINUS SIGN} {duration(error_ns)}" if has_error else ""))

    return TableColumn(title, cell, right=True)
