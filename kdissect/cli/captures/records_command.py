"""`kdissect records`: every record in the requests and responses of captures, one line each."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.formats import Format, format_name, format_of
from kdissect.cli.load_arrow import load_arrow
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import add_selection, globs
from kdissect.cli.options.filter_option import (
    add_filter,
    is_by_kind,
    open_filtered,
    selected_records,
)
from kdissect.cli.options.input_options import add_inputs, add_topic_ids, is_live, start_ns
from kdissect.cli.options.output_options import (
    OF_RECORDS,
    UNSORTED,
    add_fields,
    add_forms,
    add_limit,
    add_printing,
    add_time,
    check_parquet,
    choose_columns,
    printing,
    settle_format,
)
from kdissect.cli.output import Output
from kdissect.cli.progress_line import Progress, progress_of
from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_fields import RECORD_FIELDS, SCHEMA_COLUMNS
from kdissect.engine.records.record_rows import RecordRows, record_topic
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.history.topics.topic_names import tells_names
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.model.wording import plural
from kdissect.report.columns.records import record_columns
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdissect.engine.records.compiled_records import CompiledRecords
    from kdissect.engine.records.compiled_values import CompiledValues, JsonStyle
    from kdissect.engine.records.poison_pills import PoisonPills
    from kdissect.engine.records.record_values import RecordValues
    from kdissect.engine.records.topic_schemas import TopicSchemas
    from kdissect.query.fields.printed_fields import FieldValues
    from kdissect.report.cells import TableColumn

_Made = TypeVar("_Made")
_FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet")
# One line a record for scripts, unless `-e` chooses columns.
_DEFAULT_COLUMNS = (
    "number", "time", "direction", "topic", "topic_id", "partition", "offset", "raw_offset", "timestamp",
    "key", "value", "headers", "producer_id", "producer_epoch", "sequence", "codec", "control", "connection",
    "exchange", "batch", "acquired", "delivery_count",
)  # fmt: skip
# The columns after them with --schemas.
_SCHEMA_COLUMNS = ("value_schema", "value_error", "key_error", "decoded.key", "decoded.value")
# Of what is wrong in batches: the first few show what is wrong; `inspect --records` has all of it.
_ANOMALIES_SHOWN = 50


def run(arguments: Sequence[str]) -> int:
    """Print the records of the captures and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)
    try:
        settle_format(parser, options)
        _check(options)
    except ValueError as error:
        parser.error(str(error))

    def body(output: Output) -> None:
        _print(dissection, options, output)

    return printing(parser, options, dissection, body)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "records",
        "List the records in Produce requests and in Fetch, ShareFetch and FetchSnapshot responses.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only records for which, or for whose exchange, EXPR holds", times=False)
    add_selection(parser)
    add_printing(parser, _FORMATS)
    add = parser.add_argument
    add_fields(
        parser,
        "columns to print: fields of a record's JSON line (docs/output.md) by their dotted names, and what "
        "a filter knows of its exchange (kdissect fields)",
    )
    add_forms(parser)
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_limit(parser)
    add_time(parser)
    return parser


def _check(options: Namespace) -> None:
    check_parquet(options)
    if options.sort and options.format == "parquet":
        raise ValueError(UNSORTED)
    if options.fields or options.sort:
        choose_columns(options, RECORD_FIELDS, OF_RECORDS)
        if options.format == "parquet" and any(
            column.is_made or "." in column.name for column in options.columns
        ):
            raise ValueError("columns of parquet are whole fields of records: headers, decoded")


def _print(dissection: Dissection, options: Namespace, output: Output) -> None:
    progress = progress_of(dissection)
    if progress is not None and output.is_terminal:
        output.before_write = progress.clear
    faults = _FaultReport(dissection.file_names)
    try:
        write = _write_parquet if options.format == "parquet" else _write
        write(dissection, options, output, progress, faults)
    finally:
        if progress is not None:
            progress.clear()
        faults.close()
        if faults.schemas is not None:
            from kdissect.cli.options.schema_option import report_schemas  # start-up: of schemas

            report_schemas(options, *faults.schemas)


def _write(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    progress: Progress | None,
    faults: _FaultReport,
) -> None:
    usual = (*_DEFAULT_COLUMNS, *_SCHEMA_COLUMNS) if options.schemas else _DEFAULT_COLUMNS
    form = format_of(options, output, usual, _table_columns(dissection, options), is_live(dissection))
    output.write(form.head())
    for line in _lines(dissection, options, output, progress, faults, form, usual):
        output.write(line)
    output.write(form.tail())


def _is_by_record(options: Namespace) -> bool:
    """Return whether the filter chooses among the records of an exchange."""
    return options.filter is not None and options.filter.needs_records


def _table_columns(dissection: Dissection, options: Namespace) -> Callable[[], list[TableColumn]]:
    def columns() -> list[TableColumn]:
        from kdissect.cli.formats.clock import Clock, clocked  # start-up: other formats need none

        clock = Clock(options.time, lambda: start_ns(dissection))
        return clocked(record_columns(bool(options.schemas)), "time", itemgetter("time_ns"), clock)

    return columns


def _lines(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    progress: Progress | None,
    faults: _FaultReport,
    form: Format,
    usual: Sequence[str],
) -> Iterator[bytes]:
    """Return the lines of the records, or no lines while a table buffers them."""
    forms = (options.key_format or "text", options.value_format or "text")
    topic_name = dissection.topics.of_records
    values = _record_values(options, faults)
    rows = RecordRows(dissection.file_names, *forms, options.show_secrets, topic_name, values=values)
    style = format_name(options, output)
    extra = None
    if options.columns or options.order:
        from kdissect.cli.formats.made_values import made_values  # start-up: of -e, --sort

        extra = made_values(dissection, options)
    columns = options.fields
    if options.and_usual or not columns:
        columns = () if style == "jsonl" else (*usual, *columns)
    if (
        not is_compiled
        or style in ("table", "json")
        or "json" in forms
        or output.is_terminal
        or extra is not None
        or options.order is not None
        or (values is not None and not _is_native(options, values))
        or _is_by_record(options)
    ):
        made = _made(dissection, options, rows, progress, faults.anomalies, form.line, extra)
        return islice(made, options.limit)
    from kdissect.cli.captures.record_lines import CompiledLines, first_lines  # needs the compiled part

    compiled = CompiledLines(
        style, columns, forms, dissection.file_names, rows, form, faults.anomalies, dissection.guard.note,
        topic_name, _topic_chooser(options),
        _compiled_values(values, faults, "orjson" if style == "jsonl" else "compact"),
    )  # fmt: skip
    # A user who follows a live capture, or limits the number of records, need not wait for further ones.
    at_once = is_live(dissection) or options.limit is not None
    pieces = _compiled(dissection, options, progress, compiled.records, at_once)
    return pieces if options.limit is None else first_lines(pieces, options.limit)


def _record_values(options: Namespace, faults: _FaultReport) -> RecordValues | None:
    """Return the decoder for columns about schemas and for `decoded`; None without `--schemas` unless such a
    column is named.
    """
    named = [*options.columns, *([] if options.order is None else [options.order.column])]
    is_decoded = any(column.first == "decoded" for column in named)
    if options.schemas or is_decoded or any(column.first in SCHEMA_COLUMNS for column in named):
        from kdissect.cli.options.schema_option import values_of  # start-up: of schemas

        return values_of(options, *faults.with_schemas(), is_decoded)
    return None


def _is_native(options: Namespace, values: RecordValues) -> bool:
    """Return whether the native engine decodes keys and values. It reads more records at a time than
    `--limit` may allow.
    """
    return values.schemas is not None and options.limit is None


def _compiled_values(
    values: RecordValues | None, faults: _FaultReport, style: JsonStyle
) -> CompiledValues | None:
    if values is None or values.schemas is None:
        return None
    from kdissect.engine.records.compiled_values import CompiledValues  # start-up: of --schemas

    return CompiledValues(values.schemas, faults.with_schemas()[1], style, has_cells=style == "compact")


def _write_parquet(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    progress: Progress | None,
    faults: _FaultReport,
) -> None:
    load_arrow()
    from kdissect.cli.captures.record_parquet import write_parquet  # pyarrow is optional
    from kdissect.engine.records.record_schema import arrow_schema
    from kdissect.engine.records.row_tables import arrow_row, in_tables, table_rows

    topic_name = dissection.topics.of_records
    forms = (options.key_format, options.value_format)
    schema = arrow_schema(*forms, options.fields, with_schemas=bool(options.schemas))
    values = _record_values(options, faults)
    rows = table_rows(dissection.file_names, forms, options.show_secrets, topic_name, values)
    is_native = values is None or _is_native(options, values)
    if is_compiled and is_native and not _is_by_record(options):
        from kdissect.engine.records.compiled_tables import CompiledTables  # needs the compiled part

        compiled = CompiledTables(
            schema, forms, dissection.file_names, rows, faults.anomalies, dissection.guard.note, topic_name,
            _topic_chooser(options), _compiled_values(values, faults, "spaced"),
        )  # fmt: skip
        tables = _compiled(dissection, options, progress, compiled.records)
    else:
        made = _made(dissection, options, rows, progress, faults.anomalies, arrow_row)
        tables = in_tables(made, schema)
    write_parquet(output, schema, tables, options)


def _made(
    dissection: Dissection,
    options: Namespace,
    rows: RecordRows,
    progress: Progress | None,
    report: Callable[[list[Anomaly]], None],
    make: Callable[[Row], _Made],
    extra: FieldValues | None = None,
) -> Iterator[_Made]:
    """Yield the results of `make` for each row, with the columns that `extra` computes from its exchange."""
    accepts, by_record = selected_records(options, dissection)
    for records in _selected_sets(dissection, options, progress, accepts):
        anomalies: list[Anomaly] = []
        try:
            more = None if extra is None else extra(records.exchange)
            wants = None if by_record is None else partial(by_record, records.exchange)
            for row in rows.rows(records, anomalies, wants):
                yield make(row if more is None else more | row)
        except Exception as error:
            dissection.guard.note(error, records.exchange)
        report(anomalies)


def _selected_sets(
    dissection: Dissection,
    options: Namespace,
    progress: Progress | None,
    accepts: Callable[[Exchange], bool] | None,
) -> Iterator[RecordSet]:
    """Yield the records fields of the selected exchanges; `--topic` also chooses among the fields of one
    exchange.
    """
    is_wanted = _chooser(dissection, options)
    is_selected = _selector(dissection, _counted(accepts))
    for exchange in dissection:
        if progress is not None:
            progress.tick()
        if not is_selected(exchange):
            continue
        try:
            yield from filter(is_wanted, record_sets(exchange))
        except Exception as error:
            dissection.guard.note(error, exchange)


def _compiled(
    dissection: Dissection,
    options: Namespace,
    progress: Progress | None,
    compiled: CompiledRecords[_Made],
    at_once: bool = False,
) -> Iterator[_Made]:
    """Yield the same records by the native engine, without an object for each, except for rows.

    Nor is there an object for each exchange, but for who waits for none (`at_once`).
    """
    from kdissect.engine.records.compiled_records import ENOUGH, LOOK  # needs the compiled part

    is_wanted = _chooser(dissection, options)
    accepts = _counted(selected_records(options, dissection)[0])
    is_selected = _selector(dissection, accepts)
    choice = None
    if not at_once and is_by_kind(options):  # `same_as` is one of a connection in blocks
        choice = native.RecordChoice(tells_names, accepts)
    for exchange in _taking_blocks(dissection, progress, compiled, choice):
        is_enough = at_once or exchange is None
        # A request log has placeholders instead of records.
        if exchange is not None and exchange.connection.logged is None and is_selected(exchange):
            try:
                taken = compiled.take_exchange(exchange)
                is_enough |= taken == ENOUGH
                for records in filter(is_wanted, record_sets(exchange)) if taken == LOOK else ():
                    is_enough |= compiled.add(records)
            except Exception as error:
                dissection.guard.note(error, exchange)
        if is_enough:
            yield from compiled.close()
    yield from compiled.close()


def _taking_blocks(
    dissection: Dissection,
    progress: Progress | None,
    compiled: CompiledRecords[_Made],
    choice: native.RecordChoice | None,
) -> Iterator[Exchange | None]:
    """Yield the exchanges that are not taken in blocks, or all without a choice.

    Yield None when enough records were taken.
    """
    for events in dissection.batches():
        if progress is not None:
            progress.tick()
        if choice is not None and isinstance(events, native.ExchangeBlock):
            yield from _left_of_block(dissection, compiled, events, choice)
            continue
        for event in events:
            if isinstance(event, Exchange):
                yield event
            elif choice is not None and isinstance(event, ConnectionClosed):
                choice.close(event.connection)


def _left_of_block(
    dissection: Dissection,
    compiled: CompiledRecords[_Made],
    block: native.ExchangeBlock,
    choice: native.RecordChoice,
) -> Iterator[Exchange | None]:
    from kdissect.engine.records.compiled_records import ENOUGH  # needs the compiled part

    at = 0
    while at < len(block):
        try:
            at, taken = compiled.take_block(block, at, choice)
        except Exception as error:
            dissection.guard.note(error, block)
            return
        if taken == ENOUGH:
            yield None
        elif at < len(block):
            yield block[at]
            at += 1


def _topic_chooser(options: Namespace) -> Callable[[str], bool] | None:
    """Says of a topic's name whether `--topic` asks for its records; None where all are wanted."""
    if not options.topic:
        return None
    matches = globs(options.topic)
    return lambda topic: bool(matches(topic))


def _chooser(dissection: Dissection, options: Namespace) -> Callable[[RecordSet], bool]:
    """Says of records fields, which must come in their order, whether `--topic` asks for them.

    Pieces of snapshots are joined to those before them.
    """
    wants = _topic_chooser(options)
    pieces = SnapshotPieces()

    def is_wanted(records: RecordSet) -> bool:
        pieces.join(records)
        return wants is None or wants(record_topic(records, dissection.topics.of_records) or "")

    return is_wanted


def _counted(accepts: Callable[[Exchange], bool] | None) -> Callable[[Exchange], bool]:
    """Return the same choice, of traffic that was captured twice once."""

    def is_counted(exchange: Exchange) -> bool:
        return exchange.connection.same_as is None and (accepts is None or accepts(exchange))

    return is_counted


def _selector(
    dissection: Dissection, accepts: Callable[[Exchange], bool] | None
) -> Callable[[Exchange], bool]:
    """Return a test whether an exchange is selected, which also records names of topics from all
    exchanges.
    """
    pass_by = dissection.topics.pass_by

    def is_selected(exchange: Exchange) -> bool:
        try:
            pass_by(exchange)
            return accepts is None or accepts(exchange)
        except Exception as error:
            dissection.guard.note(error, exchange)
            return False

    return is_selected


class _FaultReport:
    """Prints the first anomalies and counts further ones. `files` are the inputs' names by file index."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._count = 0
        self.schemas: tuple[PoisonPills, TopicSchemas] | None = None
        """None without columns about schemas."""

    def with_schemas(self) -> tuple[PoisonPills, TopicSchemas]:
        """Return the collections of values that do not fit, and of schemas of topics."""
        if self.schemas is None:
            from kdissect.engine.records.poison_pills import PoisonPills  # start-up: few name such columns
            from kdissect.engine.records.topic_schemas import TopicSchemas  # start-up: the same

            self.schemas = PoisonPills(), TopicSchemas()
        return self.schemas

    def anomalies(self, found: list[Anomaly]) -> None:
        """Take what was found."""
        for anomaly in found:
            self._count += 1
            if self._count <= _ANOMALIES_SHOWN:
                place = f"{self._files[ref_file(anomaly.ref)]} packet {ref_number(anomaly.ref)}"
                say(f"{anomaly.kind}: {place}: {anomaly.detail}")

    def close(self) -> None:
        """Say how many were not printed."""
        if self._count > _ANOMALIES_SHOWN:
            say(f"and {plural(self._count - _ANOMALIES_SHOWN, 'more fault')} in batches")
