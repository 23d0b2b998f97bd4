"""`kdissect personal-data`: which personal data is in records, by field, with who writes and reads it."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.event_loop import read_and_show, read_events
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.log_segments.file_errors import FileErrors
from kdissect.cli.log_segments.segment_files import chunks, find_segments
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import add_selection, globs
from kdissect.cli.options.filter_option import add_filter, open_filtered, selected_records
from kdissect.cli.options.input_options import add_inputs, add_topic_ids, wants_live
from kdissect.cli.options.output_options import printing, writing
from kdissect.cli.options.personal_extra import check_personal
from kdissect.cli.options.schema_option import check_schemas, schemas_of
from kdissect.cli.output import Output
from kdissect.engine.records.personal_parts import PersonalParts
from kdissect.engine.segments.segment_reader import PlacedBatch, SegmentReader
from kdissect.engine.segments.segment_rows import place_of
from kdissect.model.record_batch import Record
from kdissect.model.wording import plural
from kdissect.report.columns.personal_data import personal_columns
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.personal_data import PersonalData

_COLUMNS = (
    "kind", "topic", "part", "path", "confidence", "hits", "written", "read", "stored", "sure", "likely",
    "possible", "forms", "examples", "producers.client_id", "consumers.client_id",
)  # fmt: skip
_HTML = "html"
_OF_ROWS = ("csv", "tsv", "jsonl", "parquet")  # other formats say themselves what was left out
# Names of segments and snapshots. A request log, which is no segment, ends with .log, too.
_SEGMENT = re.compile(r"\d{20}(?:\.log|-\d{10}\.checkpoint)(?:\.(?:deleted|cleaned|swap))?")


def run(arguments: Sequence[str]) -> int:
    """Print the personal data and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    check_personal(parser)
    segments = [path for path in options.paths if _is_of_segments(path)]
    options.paths = [path for path in options.paths if path not in segments]
    errors = FileErrors()
    if segments and not (options.paths or wants_live(options)):
        if options.filter is not None:
            parser.error("-Y selects exchanges: log segments have none")
        check_schemas(parser, options)
        data = PersonalData(PersonalParts(schemas_of(options)))

        def segments_body(output: Output) -> None:
            _read_segments(segments, data, errors)
            _show(data.facts(), segments, options, output)

        return writing(parser, options, segments_body) or errors.code
    dissection = open_filtered(parser, options)
    data = PersonalData(PersonalParts(schemas_of(options)), dissection.topics.of_records)

    def body(output: Output) -> None:
        _read_segments(segments, data, errors)

        def show(output: Output) -> None:
            _show(data.facts(), [*dissection.file_names, *segments], options, output)

        read_and_show(dissection, options, output, lambda: _read(dissection, options, data), show)

    return printing(parser, options, dissection, body) or errors.code


def _parser() -> ArgumentParser:
    parser = command_parser(
        "personal-data",
        "List personal data and credentials in keys, values and headers of records, in client ids and "
        "principals: by kind, topic and field, with producers and consumers. Log segments are read, too.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only records for which, or for whose exchange, EXPR holds", times=False)
    add_selection(parser)
    add_tables(parser, "personal_data", reports=(_HTML,))
    return parser


def _read(dissection: Dissection, options: Namespace, data: PersonalData) -> None:
    accepts, by_record = selected_records(options, dissection)
    by_topic = globs(options.topic) if options.topic else None
    pass_by: Callable[[Exchange], object] = dissection.topics.pass_by

    def wanted(exchange: Exchange, topic: str | None, record: Record) -> bool:
        if by_topic is not None and not by_topic(topic or ""):
            return False
        return by_record is None or by_record(exchange, topic, record)

    def take(event: Event) -> None:
        if isinstance(event, Exchange):
            pass_by(event)
            if accepts is None or accepts(event):
                data.add_exchange(event, wanted)

    read_events(dissection, take)


def _is_of_segments(path: str) -> bool:
    """Return whether a path is a log segment or snapshot, or a folder of them."""
    return any(_SEGMENT.fullmatch(PurePath(file).name) for file in find_segments([path], lambda _: None))


def _read_segments(paths: list[str], data: PersonalData, errors: FileErrors) -> None:
    for path in find_segments(paths, errors.report_error):
        topic, _ = place_of(path, None)
        reader = SegmentReader()
        for placed in errors.bounded(path, _batches(path, reader)):
            data.add_batch(topic, placed.batch)
        data.add_unreadable(len(reader.faults))


def _batches(path: str, reader: SegmentReader) -> Iterator[PlacedBatch]:
    for content in chunks(path):
        yield from reader.feed(content)
    yield from reader.close()


def _show(facts: Facts, files: Sequence[str], options: Namespace, output: Output) -> None:
    if options.format == _HTML:
        from kdissect.report.html.personal_data import personal_data_html  # start-up: of this format

        output.write(personal_data_html(facts, files).encode("utf-8", "replace"))
        return
    table = RowTable("personal_data", lambda: facts["personal_data"], _COLUMNS)
    write_tables(options, output, facts, [table], lambda: _write_text(facts, options, output))
    count = facts["left_out"]["hits_without_row"]
    if count and options.format in _OF_ROWS:
        say(f"{plural(count, 'hit')} in further fields, of which there are too many: not in the rows")


def _write_text(facts: Facts, options: Namespace, output: Output) -> None:
    tables = Tables(options, output)
    rows, examined, left_out = facts["personal_data"], facts["examined"], facts["left_out"]
    tables.table(personal_columns(), rows)
    if not rows:
        tables.line(f"no personal data in {plural(examined['records'], 'record')}")
    part, parts = "key, value or header", "keys, values and headers"
    lines = [
        (left_out["binary"], part, parts, "binary: --schemas PATH decodes those of a schema"),
        (left_out["too_large"], part, parts, "longer than 1 MiB"),
        (left_out["too_many"], part, parts, "read in part: many texts or hits"),
        (left_out["hits_without_row"], "hit", "hits", "in further fields, of which there are too many"),
        (left_out["unreadable"], "part of a batch or segment", "parts of batches or segments", "unreadable"),
    ]
    shown = [f"  {plural(count, one, many)}: {what}" for count, one, many, what in lines if count]
    tables.lines("not examined", shown)
