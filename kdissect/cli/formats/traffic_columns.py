"""The columns of the tables of `kdissect stats`."""

from collections.abc import Sequence
from typing import Any

from kdissect.cli.formats.durations import duration
from kdissect.cli.formats.quantities import byte_count, rate
from kdissect.cli.formats.statistic_cells import count_cell
from kdissect.cli.formats.table import Cell, TableColumn
from kdissect.cli.printable import printable

Facts = dict[str, Any]


def traffic_columns(by: Sequence[str], span_ns: int) -> list[TableColumn]:
    """What rows are told apart by, then how many, how fast, how large. `span_ns`: the time they took."""
    return [
        *(_name(name) for name in by),
        TableColumn("exchanges", lambda row: Cell(str(row["exchanges"])), right=True),
        TableColumn("rate", lambda row: Cell(rate(row["exchanges"], span_ns), "dim"), rank=4, right=True),
        TableColumn("failed", _failed, right=True),
        _time("p50", "latency_ns", "p50", 0),
        _time("p90", "latency_ns", "p90", 3),
        _time("p99", "latency_ns", "p99", 0),
        _time("max", "latency_ns", "max", 1),
        _time("broker p50", "broker_ns", "p50", 1),
        _time("broker p99", "broker_ns", "p99", 1),
        TableColumn("unclear", lambda row: count_cell(row["unclear"]), rank=2, right=True),
        TableColumn("waited", lambda row: _times(row["wait_ns"], "p50"), rank=2, right=True),
        TableColumn("throttled", lambda row: _times(row["throttle_ns"], "max"), rank=1, right=True),
        TableColumn("sent", lambda row: Cell(byte_count(row["request_bytes"])), rank=2, right=True),
        TableColumn("received", lambda row: Cell(byte_count(row["response_bytes"])), rank=2, right=True),
    ]


def error_columns() -> list[TableColumn]:
    """Error codes, and how many exchanges had them."""
    return [
        TableColumn("error", lambda row: Cell(row["error"], "bad")),
        TableColumn("exchanges", lambda row: Cell(str(row["exchanges"])), right=True),
        TableColumn("in", lambda row: Cell(printable(row["in"]))),
    ]


def time_columns(interval_ns: int) -> list[TableColumn]:
    """Rates in one interval after the other. `bar` is text that was drawn before."""
    return [
        TableColumn("time", lambda row: Cell(row["time"][:23] + "Z")),
        TableColumn("exchanges", lambda row: Cell(rate(row["exchanges"], interval_ns)), right=True),
        TableColumn("sent", lambda row: _bytes_rate(row["request_bytes"], interval_ns), right=True),
        TableColumn("received", lambda row: _bytes_rate(row["response_bytes"], interval_ns), right=True),
        TableColumn("errors", lambda row: count_cell(row["errors"], "bad"), right=True),
        TableColumn("", lambda row: Cell(row["bar"], "name")),
    ]


def _name(name: str) -> TableColumn:
    def cell(row: Facts) -> Cell:
        if "title" in row:  # the rows behind those of the table
            return Cell(row["title"] if name == row["first"] else "", "bold")
        return Cell("-", "dim") if row[name] is None else Cell(printable(row[name]))

    return TableColumn(name, cell)


def _time(title: str, field: str, part: str, rank: int) -> TableColumn:
    def cell(row: Facts) -> Cell:
        found = row[field]
        return Cell("" if found is None else duration(found[part]))

    return TableColumn(title, cell, rank=rank, right=True)


def _failed(row: Facts) -> Cell:
    return count_cell(row["failed"], "bad")


def _times(found: Facts | None, part: str) -> Cell:
    return Cell("" if found is None else f"{found['count']} x {duration(found[part])}", "odd")


def _bytes_rate(count: int, interval_ns: int) -> Cell:
    return Cell(f"{byte_count(count * 1_000_000_000 / interval_ns)}/s" if count else "")
