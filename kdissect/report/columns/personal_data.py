"""Columns of personal data."""

from __future__ import annotations

from typing import Any

from kdissect.report.cells import Cell, TableColumn, name_column, number_column, text_column
from kdissect.report.printable import printable

_CLIENTS_SHOWN = 3
_STYLES = {"sure": "error", "likely": "odd", "possible": ""}


def personal_columns() -> list[TableColumn]:
    """Return the columns, most telling first."""
    return [
        text_column("kind", "kind"),
        name_column("topic", "topic"),
        text_column("part", "part"),
        text_column("path", "path"),
        TableColumn("confidence", lambda row: Cell(row["confidence"], _STYLES[row["confidence"]])),
        number_column("hits", "hits"),
        TableColumn("producers", lambda row: Cell(clients_text(row["producers"])), rank=1),
        TableColumn("consumers", lambda row: Cell(clients_text(row["consumers"])), rank=1),
        TableColumn("forms", lambda row: Cell(printable(", ".join(row["forms"]))), rank=3),
        TableColumn("examples", lambda row: Cell(printable(", ".join(row["examples"]))), rank=2),
    ]


def clients_text(clients: list[dict[str, Any]]) -> str:
    """`shop, 2 more`."""
    names = [printable(client["client_id"] or "(no client id)") for client in clients]
    more = len(names) - _CLIENTS_SHOWN
    return ", ".join([*names[:_CLIENTS_SHOWN], *([f"{more} more"] if more > 0 else [])])
