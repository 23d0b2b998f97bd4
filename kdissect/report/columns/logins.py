"""The tables of logins: who tried which mechanism with which name, and the failed ones."""

from typing import Any

from kdissect.report.cells import (
    Cell,
    TableColumn,
    count_cell,
    counts_text,
    name_column,
    number_column,
    software_column,
    text_column,
    time_column,
)
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Facts = dict[str, Any]
ACCEPTED = "accepted"


def who_columns() -> list[TableColumn]:
    """Return the columns of logins, with one line for equal logins."""
    return [
        name_column("client id", "client_id"),
        software_column(),
        text_column("address", "address", rank=2),
        text_column("broker", "broker", rank=1),
        text_column("mechanism", "mechanism"),
        text_column("as", "principal"),
        number_column("logins", "count"),
        TableColumn("again", lambda row: count_cell(row["again"]), right=True),
        TableColumn("accepted", lambda row: count_cell(row["outcomes"].get(ACCEPTED, 0), "good"), right=True),
        TableColumn("failed", _others),
        TableColumn("p50", lambda row: _took(row, "p50"), right=True),
        TableColumn("max", lambda row: _took(row, "max"), right=True),
    ]


def failed_rows(facts: Facts) -> list[Facts]:
    """Return logins that were not accepted. Equal logins are folded into the first of them."""
    folded: dict[tuple[Any, ...], Facts] = {}
    for row in facts["logins"]:
        if row["outcome"] != ACCEPTED:
            key = tuple(str(row[name]) for name in _SAME)
            folded.setdefault(key, row | {"times": 0})["times"] += 1
    return list(folded.values())


_SAME = ("client_id", "address", "broker", "mechanism", "principal", "outcome", "error", "message", "offered")


def failed_columns() -> list[TableColumn]:
    """Return the columns of failed logins: the broker's response, and where to look."""
    return [
        time_column("time", "time"),
        name_column("client id", "client_id"),
        text_column("mechanism", "mechanism"),
        text_column("as", "principal"),
        text_column("outcome", "outcome", style="bad"),
        text_column("error", "error"),
        TableColumn("because", _because),
        TableColumn(
            "took", lambda row: Cell("" if row["took_ns"] is None else duration(row["took_ns"])), right=True
        ),
        number_column("times", "times"),
        TableColumn("first exchange", lambda row: Cell(row["exchange"], "dim"), rank=2),
    ]


def _others(row: Facts) -> Cell:
    others = {name: count for name, count in row["outcomes"].items() if name != ACCEPTED}
    return Cell(counts_text(others), "bad")


def _took(row: Facts, name: str) -> Cell:
    return Cell("" if row["took_ns"] is None else duration(row["took_ns"][name]))


def _because(row: Facts) -> Cell:
    if row["message"]:
        return Cell(printable(row["message"]))
    if row["offered"] and row["mechanism"] not in row["offered"]:
        return Cell(printable(f"the broker has {', '.join(row['offered'])}"))
    return Cell("")
