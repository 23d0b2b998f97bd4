"""The facts of `kdissect fetch-sessions` as a table."""

from argparse import Namespace
from typing import Any

from kdissect.cli.output import Output
from kdissect.cli.printable import printable
from kdissect.cli.tables import Tables
from kdissect.report.cells import Cell, TableColumn, count_cell

Facts = dict[str, Any]


def fetch_session_text(facts: Facts, options: Namespace, output: Output) -> None:
    """Write a line for each client and broker."""
    tables = Tables(options, output)
    tables.table(_columns(), facts["clients"])
    if facts["forgotten"]:
        tables.line(f"{facts['forgotten']} more are left out: there are more than can be kept", "odd")


def _columns() -> list[TableColumn]:
    return [
        TableColumn("client id", lambda row: Cell(printable(row["client_id"] or "-"))),
        TableColumn("address", lambda row: Cell(printable(row["address"])), rank=2),
        TableColumn("broker", lambda row: Cell(printable(row["broker"]))),
        TableColumn("", lambda row: Cell("follower" if row["follower"] else "", "dim"), rank=2),
        TableColumn("fetches", lambda row: Cell(str(row["requests"])), right=True),
        TableColumn("sessions", lambda row: Cell(str(len(row["sessions"]) or "")), right=True),
        TableColumn("partitions", _partitions, right=True),
        TableColumn("incremental", lambda row: count_cell(row["incremental"]), right=True),
        TableColumn("empty", _empty, right=True),
        TableColumn("empty early", lambda row: count_cell(row["empty_early"], "bad"), right=True),
        TableColumn("full, no session", lambda row: count_cell(row["without_session"]), rank=1, right=True),
        TableColumn("refused", lambda row: Cell(_counts(row["refused"]), "bad")),
        TableColumn("refused a session", lambda row: count_cell(row["not_created"], "bad"), right=True),
        TableColumn("rebuilt", lambda row: Cell(_counts(row["rebuilt"]), "odd")),
        TableColumn("odd", lambda row: Cell(_counts(row["odd"]), "bad")),
    ]


def _partitions(row: Facts) -> Cell:
    """Of the last session."""
    last = row["sessions"][-1] if row["sessions"] else None
    return Cell("" if last is None or last["partitions"] is None else str(last["partitions"]))


def _empty(row: Facts) -> Cell:
    if not row["incremental"]:
        return Cell("")
    return Cell(f"{row['empty']} ({row['empty'] / row['incremental']:.0%})")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
