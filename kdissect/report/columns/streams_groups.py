"""The tables of streams groups: tasks and epochs of members, statuses that brokers report (KIP-1071)."""

from typing import Any

from kdissect.report.cells import Cell, TableColumn, name_column, number_column, text_column, time_column
from kdissect.report.columns.groups import group_name_columns
from kdissect.report.printable import printable

Facts = dict[str, Any]
_WAITS = "ASSIGNMENT_DELAYED"  # group.streams.initial.rebalance.delay.ms: it passes by itself


def task_columns() -> list[TableColumn]:
    """Return a row for each member: its tasks as SUBTOPOLOGY_PARTITION."""
    return [
        *group_name_columns(),
        text_column("member", "member_id", rank=2),
        name_column("client id", "client_id"),
        text_column("process", "process_id", rank=3),
        text_column("gone", "gone"),
        number_column("epoch", "epoch"),
        number_column("topology epoch", "topology_epoch", rank=1),
        *(_tasks(role) for role in ("active", "standby", "warmup")),
    ]


def _tasks(role: str) -> TableColumn:
    return TableColumn(role, lambda row: Cell(printable(", ".join(row[role] or ()))))


def status_columns() -> list[TableColumn]:
    """Return a row for each member and status."""
    return [
        *group_name_columns(),
        name_column("client id", "client_id"),
        TableColumn("status", lambda row: Cell(row["status"], "odd" if row["status"] == _WAITS else "bad")),
        number_column("count", "count"),
        time_column("first", "first", of_day=True),
        time_column("last", "last", of_day=True),
        TableColumn("lasts", lambda row: Cell("yes" if row["lasts"] else "")),
        TableColumn("detail", lambda row: Cell(printable(row["detail"]))),
    ]
