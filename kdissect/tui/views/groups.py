"""Groups: members, the timeline of rebalances, deliveries, tasks, lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kdissect.model.wording import plural
from kdissect.query.syntax.filter_tokens import quote
from kdissect.query.values.points_in_time import read_moment
from kdissect.report.cells import Cell, TableColumn
from kdissect.report.columns.groups import (
    group_columns,
    member_columns,
    partition_columns,
    rebalance_columns,
)
from kdissect.report.columns.share_groups import delivery_columns
from kdissect.report.columns.streams_groups import status_columns, task_columns
from kdissect.tui.views.quick_filters import text_is
from kdissect.tui.views.tables import Detail, TablesView
from kdissect.tui.widgets.rows_table import Row

_TIMELINE = 32  # cells
_OF_KIND = {
    "share": {"deliveries": delivery_columns()[1:]},
    "streams": {"tasks": task_columns()[1:], "statuses": status_columns()[1:]},
}
_BESIDE, _LEAST_LINE = 80, 16  # cells of the columns next to the line, and of the shortest useful line


class GroupsView(TablesView):
    """The groups, and below rebalances, members, facts of its kind and partitions of the chosen one."""

    study = "groups"
    nothing = "no group was named"
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "group": lambda row: _group_filter(row),  # noqa: PLW0108  it stands below
        "client id": text_is("client_id"),
        "principal": text_is("principal"),
        "topic": text_is("topic"),
    }

    def key(self, row: Row) -> object:
        """Return id and kind, as a converted group has two rows."""
        return row["group"], row["kind"]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the groups by id."""
        return group_columns(), facts["groups"]

    def details(self, row: Row) -> list[Detail]:
        """Return rebalances first: people look for them."""
        own = {"group": row["group"], "kind": row["kind"]}
        parts = {
            "rebalances": self._rebalance_columns(),
            "members": member_columns()[1:],
            **(_OF_KIND.get(row["kind"]) or {}),
            "partitions": partition_columns()[1:],
        }
        return [Detail(name, columns, [own | each for each in row[name]]) for name, columns in parts.items()]

    def summary(self, facts: Any, count: int) -> str:
        """Return the number of groups, and how many are left out."""
        rebalances = sum(row["rebalance_count"] for row in facts["groups"])
        left_out = f"; {facts['forgotten']} more are left out" if facts["forgotten"] else ""
        return f"{plural(count, 'group')}, {plural(rebalances, 'rebalance')}{left_out}"

    def row_filter(self, row: Row) -> str | None:
        """Select requests that name the group."""
        return _group_filter(row)

    def _rebalance_columns(self) -> list[TableColumn]:
        """Return the columns, with a time line over the whole capture."""
        log = self.session.log
        end_ns = log.time_ns(len(log) - 1) if len(log) else log.start_ns
        width = max(min(self.below.size.width - _BESIDE, _TIMELINE), _LEAST_LINE)
        line = Timeline(log.start_ns, end_ns, width)

        def drawn(row: Row) -> Cell:
            at = read_moment(row["time"])  # None for a time that only a damaged file has
            return Cell("" if at is None else line.line(at.ns, row["took_ns"]), "name")

        when = TableColumn("time", lambda row: Cell(row["time"][11:23]))
        columns = [column for column in rebalance_columns() if column.title not in ("group", "kind", "time")]
        return [when, TableColumn("over the capture", drawn, rank=1), *columns]


def _group_filter(row: Mapping[str, Any]) -> str | None:
    return f"group == {quote(row['group'])}" if row["group"] else None


_BEFORE = "·"
_LASTS = "━"
_AT = "●"


class Timeline:
    """A line `width` cells long from `start_ns` to `end_ns`."""

    def __init__(self, start_ns: int, end_ns: int, width: int) -> None:
        self._start_ns = start_ns
        self._span_ns = max(end_ns - start_ns, 1)
        self._width = max(width, 1)

    def cell(self, time_ns: int) -> int:
        """Return the cell of a moment."""
        at = (time_ns - self._start_ns) * self._width // self._span_ns
        return max(0, min(at, self._width - 1))

    def line(self, time_ns: int, took_ns: int | None = None) -> str:
        """Draw a dot at the start of an event, and a bar after it for its duration."""
        first = self.cell(time_ns)
        last = first if took_ns is None else self.cell(time_ns + took_ns)
        return _BEFORE * first + _AT + _LASTS * (last - first) + _BEFORE * (self._width - last - 1)
