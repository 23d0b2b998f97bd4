"""Records of the exchanges that the filter takes: keys, values, headers."""

from __future__ import annotations

import json
import time
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import Static

from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.engine.records.record_fields import SCHEMA_FIELDS
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.records.record_sets import record_sets, records_side
from kdissect.engine.records.record_values import RecordValues
from kdissect.model.anomaly import Anomaly
from kdissect.model.wording import plural
from kdissect.query.syntax.filter_tokens import quote
from kdissect.report.cells import TableColumn
from kdissect.report.columns.records import record_columns
from kdissect.report.printable import printable
from kdissect.tui.panes.shown_exchanges import Shown
from kdissect.tui.session import Change
from kdissect.tui.view import GoTo
from kdissect.tui.views.lines_below import LinesBelowView
from kdissect.tui.views.quick_filters import of_producer
from kdissect.tui.widgets.hand_over import hand_over
from kdissect.tui.widgets.hex_rows import hex_rows
from kdissect.tui.widgets.rows_table import Row, RowsTable
from kdissect.tui.widgets.styled_lines import Line

_RECORDS_AT_ONCE = 200  # some screens full
_SECONDS_AT_ONCE = 0.25
# Lines of one value. `kdissect records` has the full value.
_MOST_LINES = 500
MOST_BYTES = 16 << 10
_LONGEST = 1 << 20  # characters that are tried as JSON
_FACTS = (
    "topic", "topic_id", "partition", "offset", "raw_offset", "timestamp", "timestamp_type", "principal",
    "software", "producer_id", "producer_epoch",
    "sequence", "transactional", "control", "codec", "magic", "leader_epoch",
    *(field.name for field in SCHEMA_FIELDS),
)  # fmt: skip
# Records in the list, some 2 KB each. To find more of them, use a filter.
MAX_RECORDS = 20_000
# Characters of one key, header or value in the list. The chosen record is read again in full.
_PREVIEW = 200


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
        """Return the record's position in its exchange."""
        return row["row"], row["section"], row["batch"], row["record"]

    def row_filter(self, row: Row) -> str | None:
        """Nothing asks for it: Enter goes to the record itself."""
        return None

    def shown(self) -> None:
        """Read the first records, or go on if exchanges came."""
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
        """Read and decompress in a thread: a large batch does not block the screen."""
        rows = reader.more(_RECORDS_AT_ONCE, _SECONDS_AT_ONCE)
        hand_over(self, self._add, reader, rows)

    def _add(self, reader: RecordReader, rows: list[Row]) -> None:
        if reader is not self._reader:
            return
        self._is_reading = False
        self._records = [*self._records, *rows]  # another list: the table knows by it what is new
        self._draw()
        if self._is_end_in_sight():
            self._read()

    def _draw(self) -> None:
        reader = self._reader
        is_over = reader is None or reader.is_over
        empty = self.nothing if is_over and not self.session.is_loading else "reading ..."
        self.table.show(record_columns(with_schemas=True), self._records, empty)
        self._count = len(self._records)
        self._share()
        count = plural(len(self._records), "record") + ("" if is_over else " so far: more as you scroll")
        if reader is not None and reader.is_full:
            count = f"the first {MAX_RECORDS} records: a filter finds later ones"
        if self.session.filter_text:
            count += "; of the exchanges that the filter takes"
        self.query_one(".summary", Static).update(Text(count, no_wrap=True, overflow="ellipsis", end=""))

    def lines(self, row: Row) -> Sequence[Line]:
        """Return the lines of the whole record."""
        reader = self._reader
        whole = None if reader is None else reader.whole(row)
        return list(record_lines(whole or row, self.about.size.width))

    def choose(self, table: RowsTable, row: Row) -> None:
        """Enter."""
        self.action_record()

    def action_record(self) -> None:
        """Show the record's bytes."""
        row = self.table.row
        if row is not None:
            side = "response" if row["is_response"] else "request"
            inside = f"records[{row['record']}]"
            self.post_message(GoTo(row["row"], side, row["start"], row["end"], inside))

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the records, which come from no study."""
        return record_columns(with_schemas=True), self._records

    def summary(self, facts: Any, count: int) -> str:
        """Return no text: records come from no study."""
        return ""


def _api(direction: str) -> str:
    return "".join(part.capitalize() for part in direction.split("_"))


# One record in full, as lines.
def record_lines(row: dict[str, Any], width: int) -> Iterator[Line]:
    """Yield the lines of key, headers and value. Values that are JSON are laid out."""
    yield (("key  ", "bold"), (_size(row["key_bytes"]), "dim"))
    yield from _content(row["key"], width)
    for header in row["headers"]:
        yield (("header  ", "bold"), (printable(_name(header["key"])), "name"))
        yield from _content(header["value"], width)
    yield (("value  ", "bold"), (_size(row["value_bytes"]), "dim"))
    yield from _content(row["value"], width)
    if row.get("decoded"):
        yield (("decoded", "bold"),)
        yield from _json(row["decoded"])
    yield ()
    facts = ", ".join(
        f"{name.replace('_', ' ')} {row[name]}" for name in _FACTS if row.get(name) not in (None, False, "")
    )
    for text in wrap(printable(facts), max(width - 4, 20), break_on_hyphens=False):
        yield ((text, "dim"),)
    if not row["crc_ok"]:
        yield (("the checksum of its batch is wrong", "bad"),)


def _name(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)


def _size(count: int | None) -> str:
    return "null" if count is None else plural(count, "byte")


def _content(value: Any, width: int) -> Iterator[Line]:
    if value is None:
        return
    if isinstance(value, dict) and set(value) == {"base64"}:
        data = a2b_base64(value["base64"])
        yield from hex_rows(data, 0, min(len(data), MOST_BYTES))
        if len(data) > MOST_BYTES:
            yield ((f"... {plural(len(data) - MOST_BYTES, 'more byte')}", "dim"),)
        return
    text = value if isinstance(value, str) else json.dumps(value)
    found = _parsed(text)
    yield from _json(found) if found is not None else _text(text, width)


def _parsed(text: str) -> Any:
    """Return the JSON object or list in a text, or None for anything else."""
    if text[:1] not in ("{", "[") or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> Iterator[Line]:
    try:
        lines = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
    except RecursionError:
        return
    yield from _bounded([((f"  {printable(line)}", ""),) for line in lines])


def _text(text: str, width: int) -> Iterator[Line]:
    rows: list[Line] = []
    for line in text.split("\n"):
        rows += [((f"  {part}", ""),) for part in _wrapped(printable(line), width)]
        if len(rows) > _MOST_LINES:
            break
    yield from _bounded(rows)


def _wrapped(text: str, width: int) -> Iterator[str]:
    room = max(width - 4, 20)
    for at in range(0, max(len(text), 1), room):
        yield text[at : at + room]


def _bounded(lines: list[Line]) -> Iterator[Line]:
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield (("  ... and more: see kdissect records", "dim"),)


class RecordReader:
    """Reader whose `more` returns the next rows (`engine.record_rows`). Each also has `row`, its exchange's
    in the log.

    `section` is the number of the records field in its exchange. `is_over`: all exchanges of the list so far
    were read, or `MAX_RECORDS` was reached.
    """

    def __init__(self, log: ExchangeLog, shown: Shown, files: Callable[[], Any]) -> None:
        self._log = log
        self._shown = shown
        self._place = 0
        self._count = 0
        self._rows = RecordRows(
            _Files(files), topic_name=log.topic_of_records, values=RecordValues(log.schemas)
        )
        self._current: Iterator[Row] | None = None

    @property
    def is_full(self) -> bool:
        """Whether the list has reached `MAX_RECORDS`."""
        return self._count >= MAX_RECORDS

    @property
    def is_over(self) -> bool:
        """Whether no record is left to read now."""
        return self.is_full or (self._current is None and self._place >= len(self._shown))

    @property
    def looked_at(self) -> int:
        """Exchanges of the list that were read."""
        return self._place

    def more(self, count: int, seconds: float) -> list[Row]:
        """Read at most `count` rows in at most `seconds`. Raises no exception."""
        until = time.monotonic() + seconds
        found: list[Row] = []
        while len(found) < count and not self.is_over and time.monotonic() < until:
            if self._current is None:
                self._next()
                continue
            row = next(self._current, None)
            if row is None:
                self._current = None
                continue
            self._count += 1
            row["number"] = self._count
            found.append(row)
        return found

    def whole(self, row: Row) -> Row | None:
        """Return a row of the list with all of its key, headers and value."""
        exchange = self._log.exchange(row["row"])
        for number, records in enumerate(record_sets(exchange)):
            if number == row["section"]:
                for found in self._rows.rows(records, []):
                    if (found["batch"], found["record"]) == (row["batch"], row["record"]):
                        return found
        return None

    def _next(self) -> None:
        """Go to the next exchange that may contain records, by its API."""
        log, shown = self._log, self._shown
        while self._place < len(shown):
            row = shown[self._place]
            self._place += 1
            key = log.api_key(row)
            if key is not None and records_side(key) is not None:
                self._current = self._of_exchange(row)
                return

    def _of_exchange(self, row: int) -> Iterator[Row]:
        anomalies: list[Anomaly] = []
        for number, records in enumerate(record_sets(self._log.exchange(row))):
            batches = records.found.batches
            for found in self._rows.rows(records, anomalies):
                batch = batches[found["batch"]]
                place = {"row": row, "section": number, "is_response": records.is_response}
                yield _preview(found) | place | {"start": batch.start, "end": batch.end}


class _Files(Sequence[str]):
    """File names by index, which are known only after the first file is opened."""

    def __init__(self, files: Callable[[], Any]) -> None:
        self._files = files

    def __getitem__(self, index: Any) -> Any:
        files = self._files()
        return files[index] if index < len(files) else ""

    def __len__(self) -> int:
        return len(self._files())


def _preview(row: Row) -> Row:
    """Return the row with texts cut: a value may be a megabyte long."""
    short = dict(row)
    short.pop("decoded", None)
    for name in ("key", "value"):
        short[name] = _short(row[name])
    short["headers"] = [
        {"key": _short(header["key"]), "value": _short(header["value"])} for header in row["headers"][:20]
    ]
    return short


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _PREVIEW else value[:_PREVIEW] + "…"
    if isinstance(value, dict) and set(value) == {"base64"}:
        text = value["base64"]
        return value if len(text) <= _PREVIEW else {"base64": text[:_PREVIEW]}  # 4 characters are 3 bytes
    return value
