"""Records of the exchanges that the filter takes: keys, values, headers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import Static

from kdissect.model.wording import plural
from kdissect.query.tokens import quote
from kdissect.report.cells import TableColumn
from kdissect.report.columns.records import record_columns
from kdissect.tui.hand_over import hand_over
from kdissect.tui.quick_filters import of_producer
from kdissect.tui.record_reader import MAX_RECORDS, RecordReader
from kdissect.tui.record_text import record_lines
from kdissect.tui.session import Change
from kdissect.tui.shown import Shown
from kdissect.tui.view import GoTo
from kdissect.tui.views.lines_below import LinesBelowView
from kdissect.tui.widgets.lines import Line
from kdissect.tui.widgets.rows_table import Row, RowsTable

RECORDS_AT_ONCE = 200  # some screens full
SECONDS_AT_ONCE = 0.25


class RecordsView(LinesBelowView):
    """Read as one scrolls. Enter goes to the record in its batch, in its exchange."""

    nothing = "no records in these exchanges"
    below_title = "the record"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Its bytes")]
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "topic": lambda row: f"topic == {quote(row['topic'])}" if row["topic"] else None,
        "part": lambda row: f"partition == {row['partition']}",
        "codec": lambda row: f"batch.codec == {row['codec']}",
        "producer": of_producer,
        "direction": lambda row: f"api == {_api(row['direction'])}",
    }

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._reader: RecordReader | None = None
        self._shown: Shown | None = None
        self._records: list[Row] = []
        self._is_reading = False

    def key(self, row: Row) -> object:
        """Its place in the exchange."""
        return row["row"], row["section"], row["batch"], row["record"]

    def row_filter(self, row: Row) -> str | None:
        """Nothing asks for it: Enter goes to the record itself."""
        return None

    def shown(self) -> None:
        """Read the first ones, or go on where exchanges came."""
        self._begin()
        self._read()

    def session_changed(self, change: Change, what: str) -> None:
        """Another filter: from the first. More rows: further, if the end was in sight."""
        if change in (Change.SHOWN, Change.ROWS, Change.LOADED):
            self._begin()
            if self._is_end_in_sight():
                self._read()

    def _begin(self) -> None:
        shown = self.session.shown
        if self._shown is shown:
            return
        session = self.session
        self._shown = shown
        self._reader = RecordReader(session.log, shown, lambda: session.progress.file_names)
        self._records = []
        self._is_reading = False
        self._draw()

    def _is_end_in_sight(self) -> bool:
        table = self.table
        return len(self._records) < table.scroll_offset.y + 2 * max(table.size.height, 10)

    @on(RowsTable.NearEnd)
    def _near_end(self, event: RowsTable.NearEnd) -> None:
        event.stop()
        self._read()

    def _read(self) -> None:
        reader = self._reader
        if reader is not None and not self._is_reading and not reader.is_over:
            self._is_reading = True
            self._more(reader)

    @work(thread=True, group="records")
    def _more(self, reader: RecordReader) -> None:
        """Read and decompress in a thread: a large batch holds nobody up."""
        rows = reader.more(RECORDS_AT_ONCE, SECONDS_AT_ONCE)
        hand_over(self, self._add, reader, rows)

    def _add(self, reader: RecordReader, rows: list[Row]) -> None:
        if reader is not self._reader:
            return
        self._is_reading = False
        self._records = [*self._records, *rows]  # another list: the table tells by it what is new
        self._draw()
        if self._is_end_in_sight():
            self._read()

    def _draw(self) -> None:
        reader = self._reader
        is_over = reader is None or reader.is_over
        empty = self.nothing if is_over and not self.session.is_loading else "reading ..."
        self.table.show(record_columns(), self._records, empty)
        count = plural(len(self._records), "record") + ("" if is_over else " so far: more as you scroll")
        if reader is not None and reader.is_full:
            count = f"the first {MAX_RECORDS} records; a filter finds later ones"
        if self.session.filter_text:
            count += "; of the exchanges that the filter takes"
        self.query_one(".summary", Static).update(Text(count, no_wrap=True, overflow="ellipsis", end=""))

    def lines(self, row: Row) -> Sequence[Line]:
        """All of the record."""
        reader = self._reader
        whole = None if reader is None else reader.whole(row)
        return list(record_lines(whole or row, self.about.size.width))

    def choose(self, table: RowsTable, row: Row) -> None:
        """Enter."""
        self.action_record()

    def action_record(self) -> None:
        """The record's bytes."""
        row = self.table.row
        if row is not None:
            side = "response" if row["is_response"] else "request"
            inside = f"records[{row['record']}]"
            self.post_message(GoTo(row["row"], side, row["start"], row["end"], inside))

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """No study tells records."""
        return record_columns(), self._records

    def summary(self, facts: Any, count: int) -> str:
        """No study tells records."""
        return ""


def _api(direction: str) -> str:
    return "".join(part.capitalize() for part in direction.split("_"))
