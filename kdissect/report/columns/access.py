"""The tables of accesses, of the ACLs that permit them, and of differences from existing ACLs."""

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
    time_column,
)
from kdissect.report.printable import printable

Facts = dict[str, Any]


def access_columns() -> list[TableColumn]:
    """Return the columns of accesses, one line for equal accesses."""
    return [
        TableColumn("principal", _principal),
        name_column("client id", "client_id"),
        software_column(),
        text_column("address", "address", rank=2),
        cluster_column(),
        text_column("operation", "operation"),
        text_column("resource", "resource"),
        text_column("name", "name"),
        number_column("requests", "requests"),
        TableColumn("denied", lambda row: count_cell(row["denied"], "bad"), right=True),
        TableColumn("no answer", lambda row: count_cell(row["unanswered"]), right=True),
        TableColumn("unchecked", lambda row: count_cell(row["unchecked"]), right=True),
        TableColumn("by", lambda row: Cell(", ".join(row["apis"]), "dim"), rank=1),
        TableColumn("or", lambda row: Cell(", ".join(row["alternatives"]), "dim"), rank=3),
        time_column("last", "last_time", rank=3),
    ]


def lacking_columns() -> list[TableColumn]:
    """Return the columns of accesses that the existing entries do not permit."""
    return [column for column in access_columns() if column.title != "or"] + [text_column("because", "why")]


def acl_columns() -> list[TableColumn]:
    """Return the columns of access control entries."""
    return [
        cluster_column(),
        text_column("principal", "principal"),
        text_column("host", "host", rank=1),
        text_column("permission", "permission", rank=1),
        text_column("operation", "operation"),
        text_column("resource", "resource"),
        text_column("name", "name"),
        text_column("pattern", "pattern"),
    ]


def _principal(row: Facts) -> Cell:
    if row["principal"] is None:
        return Cell(f"unknown ({row['principal_source']})", "odd")
    return Cell(printable(row["principal"]))
