"""Tables written by this process alone, without Spark. Needs pyarrow (extra `arrow`)."""

from __future__ import annotations

import uuid
from argparse import Namespace
from collections.abc import Iterable

from kdissect.api import Dissection
from kdissect.capture.filesystems import absolute, filesystem_of
from kdissect.cli.diagnostics import UNREADABLE, USAGE, say
from kdissect.cli.input_states import how_far, report
from kdissect.cli.options.input_options import was_read
from kdissect.cli.options.schema_option import values_of
from kdissect.cli.output import Output
from kdissect.cli.parquet_tables.table_formats import DELTA
from kdissect.cli.progress_line import progress_of
from kdissect.engine.tables.all_tables import TABLES
from kdissect.model.wording import plural
from kdissect.pipeline.table_files.commit import OutputDirectory, OutputExistsError
from kdissect.pipeline.table_files.delta_logs import DeltaLogs
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile
from kdissect.query.fields.field_table import FIELDS, table_named
from kdissect.stages.one_process import CauseStages, produce
from kdissect.stages.per_flow import OF_CAUSES
from kdissect.stages.rows.table_rows import batch_of


def write_and_report(dissection: Dissection, options: Namespace, wanted: frozenset[str]) -> int:
    """Write tables and reports, report what was written and what was not read, and return the exit code."""
    try:
        files = _write(dissection, options, wanted)
    except OutputExistsError:
        say(f"{options.output}: there are tables already; --overwrite replaces them")
        return USAGE
    except OSError as error:
        say(f"{options.output}: {error.strerror or error}")
        return UNREADABLE
    print_counts(files)
    return report(dissection, options)


def _write(dissection: Dissection, options: Namespace, wanted: frozenset[str]) -> list[WrittenFile]:
    """Return the written files, none if no input could be opened. Raises OutputExistsError, OSError."""
    filesystem, root = filesystem_of(options.output)
    directory = OutputDirectory(filesystem, root)
    logs: DeltaLogs | None = None
    if options.format == DELTA:
        tables = [table_named(table, options.fields) for table in wanted]
        logs = DeltaLogs(absolute(options.output), tables, options.partition_by)
    before = directory.begin(options.overwrite, logs)
    name = uuid.uuid4().hex[:12]
    with directory.staged(name) as staging:
        parts = ParquetParts(filesystem, staging, options.partition_by, name)
        try:
            _produce(dissection, wanted, options, parts)
            files = parts.close()
        except KeyboardInterrupt:
            what = f"kdissect wrote no tables to {options.output}: {how_far(dissection)}"
            raise KeyboardInterrupt(what) from None
        if not was_read(dissection):
            return []
        if before is not None:
            directory.clear(before)
        directory.commit(name, files, {"inputs": list(dissection.file_names)}, logs)
    if options.report:
        from kdissect.cli.parquet_tables.table_reports import write_reports  # start-up: a second of imports

        write_reports(filesystem, root, options.report)
    return files


def print_counts(files: Iterable[WrittenFile]) -> None:
    """Print a line for each table: its rows, files and bytes."""
    found: dict[str, list[int]] = {}
    for file in files:
        counts = found.setdefault(file.table, [0, 0, 0])
        for place, count in enumerate((file.rows, 1, file.bytes)):
            counts[place] += count
    with Output() as output:
        for table in (*TABLES, FIELDS):
            if table in found:
                rows, number, size = found[table]
                held = f"{plural(rows, 'row', spec='>14,'):19} {plural(number, 'file', spec='>6,'):12}"
                line = f"{table:18}{held} {size / 1e6:>10,.1f} MB\n"
                output.write(line.encode())


def _produce(dissection: Dissection, wanted: frozenset[str], options: Namespace, parts: ParquetParts) -> None:
    fields, values = options.fields, values_of(options)
    progress = progress_of(dissection)
    empty = set(wanted)
    causes: CauseStages | None = None
    if wanted & OF_CAUSES:
        from kdissect.causes.cause_stage import CauseStage  # start-up: seldom asked for

        causes = CauseStage
    for table, batch in produce(dissection, wanted, fields=fields, causes=causes, values=values):
        if progress is not None:
            progress.tick()
        empty.discard(table)
        parts.add(table, batch)
    for table in sorted(empty):  # a table without rows is a table: who queries it finds its columns
        parts.add(table, batch_of(table_named(table, fields), []))
    if progress is not None:
        progress.clear()
