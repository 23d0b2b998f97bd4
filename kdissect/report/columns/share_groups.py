"""The table of deliveries of share groups: what members received, and how each delivery ended (KIP-932)."""

from typing import Any

from kdissect.report.cells import Cell, TableColumn, name_column, number_column, text_column
from kdissect.report.columns.groups import group_name_columns

Facts = dict[str, Any]


def delivery_columns() -> list[TableColumn]:
    """Return a row for each member and topic."""
    return [
        *group_name_columns(),
        text_column("member", "member_id", rank=3),
        name_column("client id", "client_id"),
        text_column("principal", "principal", rank=2),
        text_column("address", "address", rank=4),
        name_column("topic", "topic"),
        number_column("acquired", "acquired"),
        _count("again", "redelivered", "odd"),
        TableColumn("most", _most, right=True, rank=1),
        _count("accepted", "accepted"),
        _count("released", "released", "odd"),
        _count("rejected", "rejected", "bad"),
        _count("expired", "expired", "bad"),
        _count("returned", "returned", "odd"),
        _count("held", "held"),
        _count("unclear", "unclear", rank=3),
        _count("given up", "given_up", "bad"),
        _count("renewed", "renewed", rank=3),
        _count("late", "late", "odd", rank=1),
        _count("refused", "refused", "bad", rank=1),
        _count("gaps", "gaps", rank=4),
    ]


def _count(title: str, field: str, style: str = "", *, rank: int = 0) -> TableColumn:
    return TableColumn(title, lambda row: Cell(str(row[field] or ""), style), rank=rank, right=True)


def _most(row: Facts) -> Cell:
    """Return the largest delivery count."""
    counts = [int(count) for count in row["delivery_counts"]]
    return Cell(str(max(counts)) if counts else "")
