"""Connections: who talks to whom, how it ended; Enter follows one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from kdissect.model.wording import plural
from kdissect.query.syntax.filter_tokens import quote
from kdissect.report.cells import Cell, TableColumn
from kdissect.report.columns.connections import connection_columns
from kdissect.report.printable import printable
from kdissect.session.problem import Reason
from kdissect.tui.screens.follow import FollowScreen
from kdissect.tui.view import Notice
from kdissect.tui.views.quick_filters import text_is
from kdissect.tui.views.tables import Detail, TablesView
from kdissect.tui.widgets.rows_table import GAP, GUTTER, Row, RowsTable


class ConnectionsView(TablesView):
    """The connections, and below all that is known of the chosen one."""

    study = "connections"
    nothing = "no connection was seen"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Follow stream"),
        Binding("f", "follow", "Follow stream", show=False),
        Binding("x", "exchanges", "Its exchanges"),
        Binding("p", "problems", "Problems", tooltip="Only failed connections, or all"),
    ]
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "client": lambda row: f"client == {row['client']}" if row["client"][:1].isdigit() else None,
        "broker": lambda row: f"broker == {row['broker']}" if row["broker"][:1].isdigit() else None,
        "client id": text_is("client_id"),
        "software": text_is("software"),
        "principal": text_is("principal"),
    }

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._only_problems = False
        self._wanted = ""

    def key(self, row: Row) -> object:
        """Return the connection's id."""
        return row["connection"]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the connections in the order of their first packets, or only the failed ones on demand."""
        rows = facts["connections"]
        columns = [
            column._replace(min_width=_TCP) if column.title == "tcp" else column
            for column in connection_columns()
        ]
        kind = next(at for at, column in enumerate(columns) if column.title == "kind")
        columns.insert(kind + 1, _PROBLEM)
        return columns, [row for row in rows if row["reason"]] if self._only_problems else rows

    def details(self, row: Row) -> list[Detail]:
        """Return every value of the row, after the reason why the connection failed."""
        told = {name: value for name, value in row.items() if name != "sentence"}
        facts = [{"what": name, "value": value} for name, value in _flat(told)]
        names = max(len(fact["what"]) for fact in facts)
        lines = wrap(
            row["sentence"], max(self.below.size.width - names - _AROUND, 20), break_on_hyphens=False
        )
        facts[:0] = [{"what": "problem" if not at else "", "value": line} for at, line in enumerate(lines)]
        columns = [
            TableColumn("what", lambda fact: Cell(fact["what"], "name")),
            TableColumn("value", lambda fact: Cell(printable(str(fact["value"])))),
        ]
        return [Detail("facts", columns, facts)]

    def summary(self, facts: Any, count: int) -> str:
        """Return the number of connections, by kind."""
        kinds: dict[str, int] = {}
        for row in facts["connections"]:
            kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
        by_kind = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        left_out = f"; {facts['forgotten']} earlier connections are left out" if facts["forgotten"] else ""
        failed = sum(bool(row["reason"]) for row in facts["connections"])
        what = "p: all connections" if self._only_problems else "p: only these"
        nothing = f"; {failed} failed ({what})" if failed or self._only_problems else ""
        total = plural(len(facts["connections"]), "connection")
        return f"{total} ({by_kind}){nothing}{left_out}" if by_kind else "0 connections"

    def select(self, identity: str) -> None:
        """Put the cursor on a connection, as soon as its row is there."""
        self._wanted, self._only_problems = identity, False
        self._show()

    def _show(self) -> None:
        super()._show()
        if not self._wanted or self.result(self.study) is None:
            return
        rows = self.table.rows
        at = next((at for at, row in enumerate(rows) if row["connection"] == self._wanted), None)
        if at is not None:
            self.table.go_to(at)
        elif self.study in self.session.final:
            self.post_message(Notice("the filter matches no exchange of that connection"))
        else:
            return
        self._wanted = ""

    def action_problems(self) -> None:
        """Show only failed connections, or all of them."""
        self._only_problems = not self._only_problems
        self.nothing = "no connection failed" if self._only_problems else type(self).nothing
        self._show()

    def row_filter(self, row: Row) -> str | None:
        """Select the exchanges of the connection."""
        return f"connection == {quote(row['connection'])}"

    def choose(self, table: RowsTable, row: Row) -> None:
        """Enter: follow."""
        self.action_follow()

    def action_follow(self) -> None:
        """Show the whole conversation."""
        row = self.table.row
        if row is None:
            return
        self.app.push_screen(FollowScreen(self.session, row["connection"]))


_TCP = 18  # `2 retransmissions`: the count and the word are whole
_PROBLEM = TableColumn("problem", lambda row: Cell(row["reason"], "odd"), max(map(len, Reason)))
_AROUND = GUTTER + GAP + 1  # a name and a value on a line, and the bar after them


def _flat(row: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values, with dots in the names of nested values."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value not in (None, [], ""):
            yield f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, list) else value
