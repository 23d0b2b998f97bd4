"""Exchanges to bytes by way of rows: everything but a JSON line with all fields."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.colour import wants_colour
from kdissect.cli.formats import Format, format_of
from kdissect.cli.formats.named_fields import needs_bodies
from kdissect.cli.options.input_options import is_live
from kdissect.cli.output import Output
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.cli.formats.exchange_tree import TreeWriter
    from kdissect.engine.exchange_rows import Nest
    from kdissect.engine.records.record_sets import RecordSet
    from kdissect.report.cells import TableColumn


class RowWriter:
    """Makes rows and formats them."""

    def __init__(self, rows: ExchangeRows, form: Format) -> None:
        self._row = rows.row
        self.skip = rows.skip
        self._form = form
        self.head = form.head
        self.tail = form.tail

    def line(self, exchange: Exchange) -> bytes:
        """One exchange; a table holds the first ones back."""
        return self._form.line(self._row(exchange))


def row_writer(
    dissection: Dissection, options: Namespace, output: Output, columns: Sequence[str]
) -> RowWriter:
    """A writer for `table`, `tsv`, `csv` or `jsonl`; `columns` are those of TSV and CSV without `-e`."""
    bodies = options.bodies or needs_bodies(options.fields)
    topics_of = dissection.topics.topics_of
    nest = nest_of(dissection, options.show_secrets) if options.records else None
    rows = ExchangeRows(dissection.file_names, bodies, options.show_secrets, topics_of, nest)
    return RowWriter(rows, format_of(options, output, columns, _table_columns, is_live(dissection)))


def _table_columns() -> list[TableColumn]:
    from kdissect.report.columns.exchanges import exchange_columns  # start-up: other formats need none

    return exchange_columns()


def nest_of(dissection: Dissection, show_secrets: bool) -> Nest:
    """What puts records into the bodies of rows."""
    from kdissect.engine.records.nested_records import nest_batches  # start-up: few ask for records

    def topic_name(records: RecordSet) -> str | None:
        topic_id = records.records_field.topic_id
        return None if topic_id is None else dissection.topics.name(records.exchange.connection, topic_id)

    return lambda row, exchange: nest_batches(row, exchange, show_secrets, topic_name)


def tree_writer(dissection: Dissection, options: Namespace, output: Output) -> TreeWriter:
    """A writer of trees."""
    from kdissect.cli.formats.exchange_tree import TreeWriter  # start-up: the tree decoder

    rows = ExchangeRows(dissection.file_names, topics_of=dissection.topics.topics_of)
    colour = wants_colour(options.color, output.is_terminal)
    return TreeWriter(rows, options.show_secrets, colour, dissection.topics.name, options.records)
