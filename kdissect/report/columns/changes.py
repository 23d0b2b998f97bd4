"""The table of changes: when, who, what."""

from typing import Any

from kdissect.report.cells import Cell, TableColumn, cluster_column, name_column, text_column, time_column
from kdissect.report.printable import printable

Facts = dict[str, Any]


def change_columns() -> list[TableColumn]:
    """Return a line for each."""
    return [
        time_column("time", "time"),
        text_column("principal", "principal"),
        name_column("client id", "client_id"),
        text_column("address", "address", rank=1),
        text_column("through", "through", rank=2),
        text_column("kind", "kind"),
        text_column("name", "name"),
        cluster_column(),
        TableColumn("what", _did),
        TableColumn("outcome", _outcome),
        text_column("detail", "detail"),
        TableColumn("exchange", lambda row: Cell(row["exchange"], "dim"), rank=2),
    ]


def _did(row: Facts) -> Cell:
    return Cell(f"only checked: {row['did']}", "dim") if row["only_check"] else Cell(row["did"])


def _outcome(row: Facts) -> Cell:
    if row["error"] is not None:
        return Cell(printable(row["error"]), "bad")
    return Cell("" if row["answered"] else "no answer", "odd")
