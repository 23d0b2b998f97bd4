"""Groups: members, the timeline of rebalances, lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kdissect.model.wording import plural
from kdissect.query.tokens import quote
from kdissect.report.cells import Cell, TableColumn
from kdissect.report.columns.groups import (
    group_columns,
    member_columns,
    partition_columns,
    rebalance_columns,
)
from kdissect.tui.quick_filters import text_is
from kdissect.tui.timeline import Timeline, time_ns_of
from kdissect.tui.views.tables import Detail, TablesView
from kdissect.tui.widgets.rows_table import Row

TIMELINE = 32  # cells


class GroupsView(TablesView):
    """The groups, and below rebalances, members and partitions of the chosen one."""

    study = "groups"
    nothing = "no group was named"
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "group": lambda row: _group_filter(row),  # noqa: PLW0108  it stands below
        "client id": text_is("client_id"),
        "principal": text_is("principal"),
        "topic": text_is("topic"),
    }

    def key(self, row: Row) -> object:
        """A converted group has two rows."""
        return row["group"], row["kind"]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """The groups by id."""
        return group_columns(), facts["groups"]

    def details(self, row: Row) -> list[Detail]:
        """Rebalances first: they are what people look for."""
        own = {"group": row["group"], "kind": row["kind"]}
        return [
            Detail("rebalances", self._rebalance_columns(), [own | each for each in row["rebalances"]]),
            Detail("members", member_columns()[1:], [own | each for each in row["members"]]),
            Detail("partitions", partition_columns()[1:], [own | each for each in row["partitions"]]),
        ]

    def summary(self, facts: Any, count: int) -> str:
        """How many groups, how many left out."""
        rebalances = sum(row["rebalance_count"] for row in facts["groups"])
        left_out = f"; {facts['forgotten']} more are left out" if facts["forgotten"] else ""
        return f"{plural(count, 'group')}, {plural(rebalances, 'rebalance')}{left_out}"

    def row_filter(self, row: Row) -> str | None:
        """Requests that name the group."""
        return _group_filter(row)

    def _rebalance_columns(self) -> list[TableColumn]:
        """With a line of time over the whole capture."""
        log = self.session.log
        end_ns = log.time_ns(len(log) - 1) if len(log) else log.start_ns
        line = Timeline(log.start_ns, end_ns, TIMELINE)

        def drawn(row: Row) -> Cell:
            return Cell(line.line(time_ns_of(row["time"]), row["took_ns"]), "name")

        when = TableColumn("time", lambda row: Cell(row["time"][11:23]))
        columns = [column for column in rebalance_columns() if column.title not in ("group", "kind", "time")]
        return [when, TableColumn("over the capture", drawn, rank=1), *columns]


def _group_filter(row: Mapping[str, Any]) -> str | None:
    return f"group == {quote(row['group'])}" if row["group"] else None
