"""The columns of `kdissect stats` tables."""

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.model.wording import plural
from kdissect.report.cells import (
    NAME_WIDTH,
    Cell,
    TableColumn,
    count_cell,
    name_column,
    number_column,
    text_column,
    time_column,
)
from kdissect.report.printable import printable
from kdissect.report.quantities import byte_count, byte_rate, duration, rate

Facts = dict[str, Any]
_NAMED = 3  # rows that an error names


def traffic_columns(by: Sequence[str], span_ns: int) -> list[TableColumn]:
    """Return the dimensions, then how many, how fast, how large. `span_ns`: the time they took."""
    return [
        *(dimension_column(name) for name in by),
        number_column("exchanges", "exchanges"),
        TableColumn("rate", lambda row: Cell(rate(row["exchanges"], span_ns), "dim"), rank=4, right=True),
        TableColumn("failed", _failed, right=True),
        _time("p50", "latency_ns", "p50", 0),
        _time("p90", "latency_ns", "p90", 3),
        _time("p99", "latency_ns", "p99", 0),
        _time("max", "latency_ns", "max", 1),
        _time("broker p50", "broker_ns", "p50", 1),
        _time("broker p99", "broker_ns", "p99", 1),
        TableColumn("unclear", lambda row: count_cell(row["unclear"]), rank=2, right=True),
        TableColumn("empty early", lambda row: count_cell(row["empty_early"], "bad"), rank=1, right=True),
        TableColumn("waited", lambda row: _times(row["wait_ns"], "p50"), rank=2, right=True),
        TableColumn("throttled", lambda row: _times(row["throttle_ns"], "max"), rank=1, right=True),
        TableColumn("sent", lambda row: _bytes(row["request_bytes"]), rank=2, right=True),
        TableColumn("received", lambda row: _bytes(row["response_bytes"]), rank=2, right=True),
    ]


def error_columns() -> list[TableColumn]:
    """Return error codes, and how many exchanges had them."""
    return [
        TableColumn("error", lambda row: Cell(row["error"], "bad")),
        number_column("exchanges", "exchanges"),
        text_column("in", "in"),
    ]


def told_columns() -> list[TableColumn]:
    """Return the columns of clients that a broker sent to another replica, and whether they read there."""
    return [
        name_column("client id", "client_id"),
        text_column("address", "address", rank=1),
        text_column("rack", "rack"),
        text_column("told by", "broker", rank=1),
        text_column("its rack", "broker_rack"),
        text_column("to read from", "replica_address", rank=1),
        number_column("node", "replica"),
        text_column("its rack", "replica_rack"),
        number_column("times", "told"),
        TableColumn("did", lambda row: count_cell(row["followed"], "good"), right=True),
        TableColumn("did not", lambda row: count_cell(row["ignored"], "bad"), right=True),
    ]


def rack_lines(racks: Facts | None) -> Iterator[str]:
    """Whose rack is not known, and why."""
    if racks is None:
        return
    clients, brokers = (racks["without_rack"][name] for name in ("client_rack", "broker_rack"))
    if clients:
        yield f"  {plural(len(clients), 'client')} sent no group (producers never do): {_some(clients)}"
    if brokers:
        yield f"  {plural(len(brokers), 'broker')} without one in what was captured: {_some(brokers)}"


def _some(names: list[str]) -> str:
    more = f", {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return printable(", ".join(names[:_NAMED])) + more


def time_columns(interval_ns: int) -> list[TableColumn]:
    """Return rates in one interval after the other. `bar` is text that was drawn before."""
    return [
        time_column("time", "time"),
        TableColumn("exchanges", lambda row: Cell(rate(row["exchanges"], interval_ns)), right=True),
        TableColumn("sent", lambda row: _bytes_rate(row["request_bytes"], interval_ns), right=True),
        TableColumn("received", lambda row: _bytes_rate(row["response_bytes"], interval_ns), right=True),
        TableColumn("errors", lambda row: count_cell(row["errors"], "bad"), right=True),
        TableColumn("", lambda row: Cell(row["bar"], "name")),
    ]


def traffic_rows(facts: Facts, first: str) -> Iterator[Facts]:
    """Yield the rows, then `other` and `all`, whose title is in the column `first`."""
    yield from facts["rows"]
    if facts["other"] is not None:
        yield facts["other"] | {"title": "other", "first": first}
    yield facts["total"] | {"title": "all", "first": first}


def error_rows(facts: Facts, by: list[str]) -> Iterator[Facts]:
    """Yield error codes, with the rows in which most of each are."""
    for error, count in facts["total"]["errors"].items():
        having = [row for row in facts["rows"] if error in row["errors"]]
        names = [" ".join(row[name] or "-" for name in by) for row in having[:_NAMED]]
        more = [f"{plural(len(having) - _NAMED, 'other')}"] if len(having) > _NAMED else []
        yield {"error": error, "exchanges": count, "in": ", ".join(names + more)}


def time_rows(over_time: Facts) -> list[Facts]:
    """Return all intervals from the first to the last, including intervals without traffic."""
    points, width = {point["time_ns"]: point for point in over_time["points"]}, over_time["interval_ns"]
    if not points:
        return []
    times = range(min(points), max(points) + 1, width)
    nothing = dict.fromkeys(("exchanges", "request_bytes", "response_bytes", "errors"), 0)
    return [points.get(time_ns) or nothing | {"time": rfc3339(time_ns)} for time_ns in times]


def dimension_column(name: str) -> TableColumn:
    """Return a dimension, or the title of what is behind the rows."""

    def cell(row: Facts) -> Cell:
        if "title" in row:  # the rows after the table's own
            return Cell(row["title"] if name == row["first"] else "", "bold")
        return Cell("-", "dim") if row[name] is None else Cell(printable(row[name]))

    return TableColumn(name, cell, readable=NAME_WIDTH)


def _time(title: str, field: str, part: str, rank: int) -> TableColumn:
    def cell(row: Facts) -> Cell:
        found = row[field]
        return Cell("" if found is None else duration(found[part]))

    return TableColumn(title, cell, rank=rank, right=True)


def _failed(row: Facts) -> Cell:
    return count_cell(row["failed"], "bad")


def _times(found: Facts | None, part: str) -> Cell:
    return Cell("" if found is None else f"{found['count']} x {duration(found[part])}", "odd")


def _bytes(count: int | None) -> Cell:
    return Cell("" if count is None else byte_count(count))


def _bytes_rate(count: int | None, interval_ns: int) -> Cell:
    return Cell(byte_rate(count, interval_ns) if count else "")
