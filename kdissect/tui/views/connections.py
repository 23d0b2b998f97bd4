"""Connections: who talks to whom, how it ended; Enter follows one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from kdissect.model.wording import plural
from kdissect.query.tokens import quote
from kdissect.report.cells import Cell, TableColumn
from kdissect.report.columns.connections import connection_columns
from kdissect.report.printable import printable
from kdissect.tui.quick_filters import text_is
from kdissect.tui.views.tables import Detail, TablesView
from kdissect.tui.widgets.rows_table import Row, RowsTable


class ConnectionsView(TablesView):
    """The connections, and below all that is known of the chosen one."""

    study = "connections"
    nothing = "no connection was seen"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Follow stream"),
        Binding("f", "follow", "Follow stream", show=False),
        Binding("x", "exchanges", "Its exchanges"),
    ]
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "client": lambda row: f"client == {row['client']}" if row["client"][:1].isdigit() else None,
        "broker": lambda row: f"broker == {row['broker']}" if row["broker"][:1].isdigit() else None,
        "client id": text_is("client_id"),
        "software": text_is("software"),
        "principal": text_is("principal"),
    }

    def key(self, row: Row) -> object:
        """The connection's id."""
        return row["connection"]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """The connections in the order of their first packets."""
        return connection_columns(), facts["connections"]

    def details(self, row: Row) -> list[Detail]:
        """Everything of the row that has a value."""
        facts = [{"what": name, "value": value} for name, value in _flat(row)]
        columns = [
            TableColumn("what", lambda fact: Cell(fact["what"], "name")),
            TableColumn("value", lambda fact: Cell(printable(str(fact["value"])))),
        ]
        return [Detail("facts", columns, facts)]

    def summary(self, facts: Any, count: int) -> str:
        """How many, of which kinds."""
        kinds: dict[str, int] = {}
        for row in facts["connections"]:
            kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
        told = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        left_out = f"; {facts['forgotten']} earlier ones are left out" if facts["forgotten"] else ""
        return f"{plural(count, 'connection')} ({told}){left_out}" if told else "0 connections"

    def row_filter(self, row: Row) -> str | None:
        """The exchanges of the connection."""
        return f"connection == {quote(row['connection'])}"

    def choose(self, table: RowsTable, row: Row) -> None:
        """Enter: follow."""
        self.action_follow()

    def action_follow(self) -> None:
        """The whole conversation."""
        row = self.table.row
        if row is None:
            return
        from kdissect.tui.follow import FollowScreen

        self.app.push_screen(FollowScreen(self.session, row["connection"]))


def _flat(row: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values, those of structs with dots between."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value not in (None, [], ""):
            yield f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, list) else value
