"""The facts of `kdissect stats` as tables."""

from argparse import Namespace
from typing import Any

from kdissect.cli.formats.bars import bars
from kdissect.cli.output import Output
from kdissect.cli.tables import Tables
from kdissect.report.columns.traffic import (
    error_columns,
    error_rows,
    time_columns,
    time_rows,
    traffic_columns,
    traffic_rows,
)
from kdissect.report.quantities import duration

Facts = dict[str, Any]


def traffic_text(facts: Facts, span_ns: int, options: Namespace, output: Output) -> None:
    """Write the table of rows, the errors, and with `--over-time` the rates."""
    tables = Tables(options, output)
    by = facts["by"]
    tables.table(traffic_columns(by, span_ns), traffic_rows(facts, by[0]))
    errors = [] if "error" in by else list(error_rows(facts, by))  # the rows themselves tell
    if errors:
        tables.heading("errors by code")
        tables.table(error_columns(), errors)
    if options.over_time:
        over_time = facts["over_time"]
        tables.heading(f"over time, in intervals of {duration(over_time['interval_ns'])}")
        tables.table(time_columns(over_time["interval_ns"]), _points(over_time))


def _points(over_time: Facts) -> list[Facts]:
    """The intervals with their bars."""
    rows = time_rows(over_time)
    drawn = bars([row["exchanges"] for row in rows])
    return [row | {"bar": bar} for row, bar in zip(rows, drawn, strict=True)]
