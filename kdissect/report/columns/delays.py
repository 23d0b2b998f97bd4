"""The tables of delays, and of producers' clocks."""

from collections.abc import Sequence
from typing import Any

from kdissect.report.cells import (
    Cell,
    TableColumn,
    cluster_column,
    count_cell,
    name_column,
    number_column,
    software_column,
    text_column,
)
from kdissect.report.quantities import duration

Facts = dict[str, Any]


def delay_columns(by: Sequence[str]) -> list[TableColumn]:
    """Return the dimensions, the delays, and where records waited."""
    return [
        cluster_column(),
        *(_dimension(name) for name in by),
        number_column("records", "records"),
        _part("p50", "delay_ns", "p50"),
        _part("p99", "delay_ns", "p99"),
        _part("max", "delay_ns", "max"),
        _part("linger", "linger_ns", "mean", rank=1),
        _part("broker", "broker_ns", "mean", rank=1),
        _part("poll", "poll_ns", "mean", rank=1),
        _part("commit", "commit_ns", "mean", rank=1),
        _part("created p50", "age_ns", "p50", rank=3),
        _part("created p99", "age_ns", "p99", rank=3),
        _part("committed p99", "committed_ns", "p99", rank=3),
        number_column("lag", "lag", rank=1),
        TableColumn(
            "lag time", lambda row: _duration(row["lag_ns"] if row["lag"] else None), rank=1, right=True
        ),
        TableColumn("again", lambda row: count_cell(row["again"]), rank=2, right=True),
        TableColumn("aborted", lambda row: count_cell(row["aborted"]), rank=2, right=True),
        TableColumn("not seen written", lambda row: count_cell(row["unmatched"], "dim"), rank=1, right=True),
    ]


def clock_columns() -> list[TableColumn]:
    """Return the columns of producers whose timestamps are compared with the packets."""
    return [
        cluster_column(),
        name_column("client id", "client_id"),
        software_column(),
        text_column("address", "address", rank=1),
        number_column("records", "records"),
        TableColumn(
            "ahead by at least", lambda row: _duration(row["ahead_least_ns"] or None, "bad"), right=True
        ),
        TableColumn("behind by at most", lambda row: _duration(row["behind_most_ns"]), right=True),
        TableColumn("after their Produce", lambda row: count_cell(row["after_produce"], "bad"), right=True),
        TableColumn("too old", lambda row: count_cell(row["too_old"], "odd"), right=True),
        TableColumn("without a time", lambda row: count_cell(row["without_time"]), right=True),
    ]


def _dimension(name: str) -> TableColumn:
    if name == "partition":
        return number_column("partition", "partition")
    return name_column(name.replace("_", " "), name)


def _part(title: str, field: str, part: str, rank: int = 0) -> TableColumn:
    return TableColumn(
        title, lambda row: _duration(None if row[field] is None else row[field][part]), rank=rank, right=True
    )


def _duration(value: int | None, style: str = "") -> Cell:
    return Cell("" if value is None else duration(value), style)
