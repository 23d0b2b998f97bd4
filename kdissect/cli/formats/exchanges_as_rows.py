"""Exchanges to bytes by way of rows: everything but a JSON line with all fields."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.colour import wants_colour
from kdissect.cli.formats import ColumnFormat, format_name, format_of
from kdissect.cli.formats.json_lines.line_filler import CLOCK, DURATION, OF_BODIES, OF_CONNECTION, FilledLines
from kdissect.cli.formats.named_fields import ROW_COLOR, needs_bodies
from kdissect.cli.options.input_options import is_live, start_ns
from kdissect.cli.options.schema_option import values_of
from kdissect.cli.output import Output
from kdissect.decoders.generated.summary import Summary
from kdissect.engine.exchange_rows import ExchangeRows, Row, RowField, ends_row
from kdissect.engine.listed_rows import LISTED_FIELDS, ListedRows, who_row
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect._native import LinePart
    from kdissect.cli.formats.exchange_tree import TreeWriter
    from kdissect.engine.exchange_rows import Nest
    from kdissect.query.exchange_colors import ColorOf
    from kdissect.query.fields.printed_fields import FieldValues
    from kdissect.report.cells import TableColumn


# Columns that belong to the connection, columns that belong to the bodies, and columns that are equal within
# a template.
_OF_CONNECTION = (
    "connection", "capture_set", "client", "broker", "client_proxied", "processes", "software", "principal"
)  # fmt: skip
_OF_BODIES = ("errors", "topics", "topic_ids", "group", "throttle", "rack")
_SHARED = ("kind", "client_id", "api_key", "api", "api_version", "state", "closed", "anomalies")
_OF_FRAMES = ("packets.first", "packets.last", "time", "time_ns", "end_time_ns", "bytes")
_OF_REQUESTS = (*(f"request.{part}" for part in _OF_FRAMES), CLOCK)
_OF_RESPONSES = ("latency_ns", DURATION, *(f"response.{part}" for part in _OF_FRAMES))
_SIZES = ("request.bytes", "response.bytes")
_OPEN = ("number", "exchange", "correlation_id", *_OF_REQUESTS, *_OF_RESPONSES)
TYPES = {field.name: field.type for field in LISTED_FIELDS}
_OF_FILES = tuple(f"{side}.{part}" for side in ("request", "response")
                  for part in ("packets.file", "packets.last_file", "captured"))  # fmt: skip


class RowWriter(FilledLines):
    """Makes rows and formats them. `files` are the inputs' names. Rows with bodies do not use templates.

    `made` returns columns that exist only for `-e`, `color_of` a colour. Such rows do not use templates,
    either.
    """

    def __init__(
        self,
        rows: ExchangeRows,
        form: ColumnFormat,
        files: Sequence[str],
        has_bodies: bool,
        made: FieldValues | None = None,
        color_of: ColorOf | None = None,
    ) -> None:
        super().__init__(files, has_templates=not has_bodies and made is None and color_of is None)
        self._made = made
        self._color_of = color_of
        self._rows = rows
        self._shared = ListedRows(files)  # these learn no names
        self._form = form
        self._values: list[str] | None = None
        self._at: dict[tuple[str, ...], list[int]] = {_OF_CONNECTION: [], _OF_BODIES: []}
        """Which of these columns show values of a connection, and which show values of bodies."""
        self.head = form.head
        self.tail = form.tail

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """Return the row of this number. A table delays the first rows."""
        row = self._rows.numbered(exchange, number)
        if self._color_of is not None:
            row[ROW_COLOR] = self._color_of(exchange)
        return self._form.line(row if self._made is None else row | self._made(exchange))

    def parts_of(self, exchange: Exchange) -> tuple[list[LinePart], bool] | None:
        """Return cells that such exchanges share, as in a line, and placeholders for other cells."""
        form, names = self._form, self._form.values
        if names is None:
            return None
        row, is_silent = self._shared.numbered(exchange, 0), exchange.response is None
        is_unsized = exchange.logged is not None
        parts: list[LinePart] = []
        connections, bodies = count(), count()
        for at, name in enumerate(names):
            first = name.split(".")[0]
            if first in _OF_CONNECTION:
                parts.append((OF_CONNECTION, next(connections), 0, 0))
            elif name in _OF_BODIES:
                parts.append((OF_BODIES, next(bodies), 0, 0))
            elif (
                first in _SHARED or name in _OF_FILES
                or (is_silent and name in _OF_RESPONSES) or (is_unsized and name in _SIZES)
            ):  # fmt: skip
                parts.append(form.cell(at, row))
            elif name in _OPEN:
                room = form.room(at, row)
                parts += [room.before, (name, 0, room.width, room.side), room.behind]
            else:
                return None
        return [*parts, form.end], form.is_stripped

    def connection_texts(self, connection: ConnectionInfo) -> tuple[bytes, ...]:
        """Return cells that belong to a connection."""
        row = {"connection": connection.id, **ends_row(connection), **who_row(connection)}
        return self._cells(row, _OF_CONNECTION)

    def body_texts(
        self, exchange: Exchange, asked: Summary, answered: Summary, is_learning: bool
    ) -> tuple[bytes, ...]:
        """Return cells that belong to the bodies."""
        names = self._rows.names(exchange, asked, answered)
        return self._cells({"state": exchange.state, "closed": None, "anomalies": [], **names}, _OF_BODIES)

    def _cells(self, row: Row, wanted: tuple[str, ...]) -> tuple[bytes, ...]:
        # Hot, once an exchange that names topic ids.
        form = self._form
        if form.values is not self._values:  # a table knows its columns after its first rows
            self._values = form.values
            firsts = [name.split(".")[0] for name in self._values or ()]
            self._at = {
                names: [at for at, first in enumerate(firsts) if first in names]
                for names in (_OF_CONNECTION, _OF_BODIES)
            }
        return tuple(form.cell(at, row) for at in self._at[wanted])


def row_writer(
    dissection: Dissection, options: Namespace, output: Output, columns: Sequence[str]
) -> RowWriter:
    """Return a writer for `table`, `tsv`, `csv` or `jsonl`; `columns` are the default ones of TSV and CSV
    without `-e`.
    """
    bodies = options.bodies or needs_bodies(options.columns)
    files, topics_of = dissection.file_names, dissection.topics.topics_of
    nest = nest_of(dissection, options) if options.records else None
    rows = ListedRows(files, bodies, options.show_secrets, topics_of, nest)
    if options.format == "parquet" and not (options.columns and not options.and_usual):
        columns = [field.name for field in LISTED_FIELDS if _is_leaf(field, bodies)]
    form = format_of(
        options, output, columns, _table_columns(dissection, options), is_live(dissection), _types(options)
    )
    colors = _colors(dissection, options, output)
    return RowWriter(rows, form, files, bodies or nest is not None, made_of(dissection, options), colors)


def _types(options: Namespace) -> dict[str, str]:
    """Return the types of all fields, and for Parquet also of the columns that `-e` chose."""
    if options.format != "parquet":
        return TYPES
    from kdissect.query.fields.field_table import type_of_column  # start-up: the filter language

    return TYPES | {column.place: type_of_column(column) for column in options.columns}


def _colors(dissection: Dissection, options: Namespace, output: Output) -> ColorOf | None:
    """Return the function that colours the rows of a table; None without coloring rules, or without
    colours.
    """
    is_table = format_name(options, output) == "table" and wants_colour(options.color, output.is_terminal)
    rules = getattr(options, "coloring", ())
    if not rules or not is_table:
        return None
    # start-up: the filter language
    from kdissect.query import Context
    from kdissect.query.exchange_colors import color_of

    topics_of, files = dissection.topics.topics_of, dissection.file_names
    return color_of(rules, Context(lambda: start_ns(dissection), topics_of, None, files))


def made_of(dissection: Dissection, options: Namespace) -> FieldValues | None:
    """Return the function that computes columns which rows lack; None without such columns."""
    order = [] if options.order is None else [options.order.column]
    if not any(column.is_made for column in (*options.columns, *order)):
        return None
    from kdissect.cli.formats.made_values import made_values  # start-up: the filter language

    return made_values(dissection, options)


def _is_leaf(field: RowField, bodies: bool) -> bool:
    """Return whether Parquet has a column for it: structs become their fields, except for bodies
    and lists.
    """
    if field.name.endswith((".body", ".error")):
        return bodies
    return field.type != "struct" and not field.name.startswith(("processes.", "anomalies."))


def _table_columns(dissection: Dissection, options: Namespace) -> Callable[[], list[TableColumn]]:
    def columns() -> list[TableColumn]:
        # start-up: other formats need none
        from kdissect.cli.formats.clock import Clock, clocked
        from kdissect.report.columns.exchanges import exchange_columns

        clock = Clock(options.time, lambda: start_ns(dissection))
        return clocked(exchange_columns(), "time", _time_of, clock)

    return columns


def _time_of(row: Row) -> int:
    found: int = (row["request"] or row["response"])["time_ns"]
    return found


def nest_of(dissection: Dissection, options: Namespace) -> Nest:
    """Return the function that puts records into the bodies of rows."""
    from kdissect.engine.records.nested_records import nest_batches  # start-up: few ask for records

    topic_name = dissection.topics.of_records
    values = values_of(options) if options.schemas else None
    return lambda row, exchange: nest_batches(row, exchange, options.show_secrets, topic_name, values)


def tree_writer(dissection: Dissection, options: Namespace, output: Output) -> TreeWriter:
    """Return a writer of trees."""
    from kdissect.cli.formats.exchange_tree import TreeWriter  # start-up: the tree decoder

    rows = ExchangeRows(dissection.file_names, topics_of=dissection.topics.topics_of)
    colour = wants_colour(options.color, output.is_terminal)
    values = values_of(options) if options.schemas else None
    return TreeWriter(rows, options.show_secrets, colour, dissection.topics.name, options.records, values)
