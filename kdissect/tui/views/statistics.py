"""Statistics: response times by API, client, topic ..., rates over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from kdissect.model.wording import plural
from kdissect.query.syntax.filter_tokens import quote
from kdissect.report.cells import Cell, TableColumn
from kdissect.report.columns.stalls import stall_line
from kdissect.report.columns.traffic import error_rows, time_rows, traffic_columns, traffic_rows
from kdissect.report.printable import printable
from kdissect.tui.session import Change
from kdissect.tui.view import Notice, UseFilter
from kdissect.tui.views.lines_below import LinesBelowView
from kdissect.tui.views.quick_filters import negated
from kdissect.tui.widgets.plots import latency_plot, percentile_plot, rate_plot
from kdissect.tui.widgets.rows_table import Row
from kdissect.tui.widgets.styled_lines import Line

# Values that distinguish rows, and the field of each in a filter.
DIMENSIONS = {
    "api": "api",
    "client_id": "client_id",
    "topic": "topic",
    "broker": "broker",
    "group": "group",
    "software": "software",
    "connection": "connection",
}
_PLOT_HEIGHT = 5
_LATENCY_HEIGHT = 3


class StatisticsView(LinesBelowView):
    """The view of statistics. `b` selects another dimension for the rows."""

    study = "traffic"
    nothing = "no exchange was counted"
    below_title = "response times of the row, and of all over time with rates, stalls and errors"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "by", "By ...", tooltip="By API, client id, topic, connection ...")
    ]

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._by = "api"
        self._facts: Any = None

    def on_mount(self) -> None:
        """Let sums stay below."""
        self.table.stays = lambda row: "title" in row

    def key(self, row: Row) -> object:
        """Return the value that distinguishes the row, and its title."""
        return row.get("title"), row.get(self._by)

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the rows, and the row of all together."""
        self._facts = facts
        by = facts["by"]
        columns = traffic_columns(by, self._span_ns(facts))
        if self._by == "connection":  # people cannot use its id
            columns[0] = TableColumn("connection", _ends)
        return columns, list(traffic_rows(facts, by[0]))

    def summary(self, facts: Any, count: int) -> str:
        """Return the number of exchanges, and the dimension."""
        total = facts["total"]
        counts = f"{plural(total['exchanges'], 'exchange')}, {total['failed']} failed"
        return f"{counts}; by {self._by} (b: by something else)"

    def row_filter(self, row: Row) -> str | None:
        """Select the exchanges of a row."""
        value = row.get(self._by)
        if value is None or value == "(many)":
            return None
        plain = self._by in ("api", "broker") and "key " not in value
        return f"{DIMENSIONS[self._by]} == {value if plain else quote(value)}"

    def action_cell(self, takes: bool) -> None:
        """Filter by the row's first cell, from any cell of the row."""
        row = self.table.row
        expression = None if row is None else self.row_filter(row)
        if expression is None:
            self.post_message(Notice("the row stands for several"))
            return
        self.post_message(UseFilter(expression if takes else negated(expression), extend=True))

    def action_by(self) -> None:
        """Switch to the next dimension."""
        names = list(DIMENSIONS)
        self._by = names[(names.index(self._by) + 1) % len(names)]
        self.study = study_of(self._by)  # type: ignore[misc]
        if self.session.is_stream and self._by != "api":
            self._by, self.study = "api", "traffic"  # type: ignore[misc]
            self.post_message(Notice("a stream is counted once, by API"))
            return
        self.session.ask({self.study})
        if self.result(self.study) is None:
            self.table.show((), (), f"counting by {self._by} ...")
        self._show()

    def session_changed(self, change: Change, what: str) -> None:
        """Show the next snapshot of the chosen dimension."""
        if change is Change.RESULT and what == self.study:
            self._show()

    def lines(self, row: Row) -> Sequence[Line]:
        """Return times of the row, then times and rates of all by interval."""
        width = max(self.about.size.width - 2, 20)
        name = printable(str(row.get("title") or row.get("ends") or row.get(self._by) or "-"))
        over_time = self._facts["over_time"]
        points = time_rows(over_time)
        parts: tuple[Iterator[Line], ...] = (
            percentile_plot(f"response times of {name}", row["latency_ns"], min(width, 80)),
            latency_plot(points, width, _LATENCY_HEIGHT),
            rate_plot(points, over_time["interval_ns"], width, _PLOT_HEIGHT),
            self._stalls(),
            self._errors(),
            percentile_plot(f"broker's own time of {name}", row["broker_ns"], min(width, 80)),
        )
        found: list[Line] = []
        for part in map(list, parts):
            found += [*part, ()] if part else []
        return found

    def _errors(self) -> Iterator[Line]:
        for row in error_rows(self._facts, self._facts["by"]):
            yield (
                (f"{row['error']}  ", "bad"),
                (f"{plural(row['exchanges'], 'exchange')}, in {printable(row['in'])}", ""),
            )

    def _stalls(self) -> Iterator[Line]:
        for row in self._facts["stalls"]:
            yield ((f"{row['from'][11:23]}  ", "dim"), (stall_line(row), "bad"))

    @staticmethod
    def _span_ns(facts: Any) -> int:
        points = facts["over_time"]["points"]
        if not points:
            return 0
        return int(points[-1]["time_ns"] - points[0]["time_ns"] + facts["over_time"]["interval_ns"])


def _ends(row: Row) -> Cell:
    if "title" in row:
        return Cell(row["title"], "bold")
    return Cell(printable(row["ends"]))


def study_of(by: str) -> str:
    """Return the name of the study for a dimension."""
    return "traffic" if by == "api" else f"traffic by {by}"
