"""The facts of `kdissect stats` as tables."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from kdissect.cli.formats.bars import bars
from kdissect.cli.formats.durations import duration
from kdissect.cli.formats.traffic_columns import error_columns, time_columns, traffic_columns
from kdissect.cli.output import Output
from kdissect.cli.tables import Tables
from kdissect.engine.times import rfc3339

Facts = dict[str, Any]
_NAMED = 3  # rows that an error names


def traffic_text(facts: Facts, span_ns: int, options: Namespace, output: Output) -> None:
    """Write the table of rows, the errors, and with `--over-time` the rates."""
    tables = Tables(options, output)
    by = facts["by"]
    tables.table(traffic_columns(by, span_ns), _rows(facts, by[0]))
    errors = [] if "error" in by else list(_errors(facts, by))  # the rows themselves tell
    if errors:
        tables.heading("errors by code")
        tables.table(error_columns(), errors)
    if options.over_time:
        over_time = facts["over_time"]
        tables.heading(f"over time, in intervals of {duration(over_time['interval_ns'])}")
        tables.table(time_columns(over_time["interval_ns"]), _points(over_time))


def _rows(facts: Facts, first: str) -> Iterator[Facts]:
    yield from facts["rows"]
    if facts["other"] is not None:
        yield facts["other"] | {"title": "other", "first": first}
    yield facts["total"] | {"title": "all", "first": first}


def _errors(facts: Facts, by: list[str]) -> Iterator[Facts]:
    for error, count in facts["total"]["errors"].items():
        having = [row for row in facts["rows"] if error in row["errors"]]
        names = [" ".join(row[name] or "-" for name in by) for row in having[:_NAMED]]
        more = [f"{len(having) - _NAMED} others"] if len(having) > _NAMED else []
        yield {"error": error, "exchanges": count, "in": ", ".join(names + more)}


def _points(over_time: Facts) -> list[Facts]:
    """All intervals from the first to the last, those without traffic too."""
    points, width = {point["time_ns"]: point for point in over_time["points"]}, over_time["interval_ns"]
    if not points:
        return []
    times = range(min(points), max(points) + 1, width)
    nothing = dict.fromkeys(("exchanges", "request_bytes", "response_bytes", "errors"), 0)
    rows = [points.get(time_ns) or nothing | {"time": rfc3339(time_ns)} for time_ns in times]
    drawn = bars([row["exchanges"] for row in rows])
    return [row | {"bar": bar} for row, bar in zip(rows, drawn, strict=True)]
